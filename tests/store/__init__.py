"""Tests of the store on a file: what the contract can not see. The contract itself is in tests/contract/test_store*.py."""
