"""The tests, importable as one package: `from tests.demand import demand`."""
