"""Examples in docstrings say what the code does."""

import doctest
import importlib
import pkgutil

import pytest

import willowbark


def modules() -> list[str]:
    found = pkgutil.walk_packages(willowbark.__path__, "willowbark.")
    return sorted(each.name for each in found if not each.name.endswith("__main__"))


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_a_module_hold(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        pytest.skip(f"{name} needs an extra: {missing.name}")
    assert doctest.testmod(module).failed == 0
