"""Stand-ins that ship with the product: a scripted CLI and a scripted Messages API. Refuses to be imported by the library."""
