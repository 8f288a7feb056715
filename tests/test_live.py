"""The public sources answer as Willowbark reads them; needs a network: `pytest -m live`."""

import pytest

from willowbark.tools.contracts.contact import contact_sources
from willowbark.tools.contracts.known_items import asked_sources
from willowbark.tools.http.endpoints import Endpoints


@pytest.mark.live
@pytest.mark.parametrize("source", asked_sources())
async def test_a_public_source_answers_and_is_understood(source: str) -> None:
    [contact] = await contact_sources([source], Endpoints.public())

    assert contact.outcome == "answered", contact.line
    assert contact.details == (), contact.line
