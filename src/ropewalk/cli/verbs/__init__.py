"""The commands that speak to a hub, a file each. Refuses the rest: what needs no hub is beside this folder."""
