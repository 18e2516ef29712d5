"""Rules, commands taken apart, verdicts with their reasons. Pure: no I/O, no clock; asking people happens elsewhere."""
