"""The hub beside the limit of its road, measured in one run. Refuses to import ropewalk here: measured processes do."""
