import pytest

from lagco.search import METRICS, search
from lagco.search.paths import search as path_space
from lagco.search.products import search as product
from lagco.search.subgraphs import search as subgraph_space


@pytest.fixture(params=["as planned", "never listed", "short walk"])
def route(request, monkeypatch):
    """The search as it is, without listing small sets, and with the fallback after 16 tests."""
    if request.param != "as planned":
        monkeypatch.setattr(product, "LISTED", -1)
        monkeypatch.setattr(path_space, "LISTED", dict.fromkeys(METRICS, -1))
        monkeypatch.setattr(subgraph_space, "LISTED", -1)
    if request.param == "short walk":
        monkeypatch.setattr(search, "WALK", 16)
        monkeypatch.setattr(subgraph_space, "WALK", 16)
        monkeypatch.setattr(search, "ROWS_AFTER", 30)
    return request.param
