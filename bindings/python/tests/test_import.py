"""The package can be imported, and says what it is."""

import philox


def test_versions_are_those_of_the_library():
    assert philox.__version__ == "0.1.0"
    assert "devices host" in philox.build()
