"""The catalogue: its form, its size, its checks, its vectors."""

import copy
import json
import re
from importlib import resources

import numpy as np
import pytest

from benchmarks.embed_catalogue import embed_catalogue, principal_components
from lagco.errors import InstanceError
from lagco.instances.catalogue import (
    LOCAL_BIT,
    OUTCOMES,
    PRIVILEGE_BIT,
    PRIVILEGES,
    load_catalogue,
    parse_catalogue,
)
from lagco.problems.cyber_path.catalogue.outcomes import ALL_OUTCOMES
from lagco.problems.cyber_path.catalogue.vectors import (
    load_vectors,
    vulnerability_text_vector,
    vulnerability_vector,
)
from tests.problems.cyber_path import networks


def content(name="catalogue.json"):
    return json.loads((resources.files("lagco.instances") / name).read_text("utf-8"))


def test_it_is_large_enough():
    catalogue = load_catalogue()
    assert len(catalogue.vulnerabilities) >= 120
    assert len({v.service for v in catalogue.vulnerabilities}) == len(catalogue.services) >= 25


def test_it_follows_its_schema():
    check(content(), content("catalogue.schema.json"))


def check(value, schema, root=None):
    """The part of JSON Schema that the schema file uses."""
    root = root or schema
    if "$ref" in schema:
        check(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "const" in schema:
        assert value == schema["const"]
    if "enum" in schema:
        assert value in schema["enum"]
    if "pattern" in schema:
        assert re.search(schema["pattern"], value)
    if "maxLength" in schema:
        assert len(value) <= schema["maxLength"]
    if schema.get("type") == "object":
        assert set(schema["required"]) <= value.keys() <= schema["properties"].keys()
        for key, part in schema["properties"].items():
            check(value[key], part, root)
    if schema.get("type") == "array":
        assert len(value) >= schema["minItems"]
        assert not schema.get("uniqueItems") or len(set(value)) == len(value)
        for item in value:
            check(item, schema["items"], root)
        if "if" in schema and schema["if"]["contains"]["const"] in value:
            assert len(value) <= schema["then"]["maxItems"]


def test_schema_and_code_name_the_same_outcomes():
    fields = content("catalogue.schema.json")["properties"]["vulnerabilities"]["items"]
    assert tuple(fields["properties"]["outcomes"]["items"]["enum"]) == OUTCOMES


def test_codes_hold_outcomes_access_and_privilege():
    catalogue = load_catalogue()
    for vulnerability, code in zip(
        catalogue.vulnerabilities, catalogue.codes.tolist(), strict=True
    ):
        mask = code & ALL_OUTCOMES
        named = {name for bit, name in enumerate(OUTCOMES) if mask >> bit & 1}
        assert named == set(vulnerability.outcomes)
        assert (code >> LOCAL_BIT & 1) == (vulnerability.access == "local")
        assert PRIVILEGES[code >> PRIVILEGE_BIT] == vulnerability.privilege


@pytest.mark.parametrize(
    ("kind", "field", "value", "message"),
    [
        ("vulnerabilities", "outcomes", ["flying"], "unknown outcome 'flying'"),
        ("vulnerabilities", "outcomes", [], "at least one"),
        ("vulnerabilities", "outcomes", ["discovery", "discovery"], "each once"),
        ("vulnerabilities", "outcomes", ["discovery", "denial-of-service"], "stands alone"),
        ("vulnerabilities", "service", "web-sever", "did you mean 'web-server'"),
        ("vulnerabilities", "access", "near", "unknown access"),
        ("vulnerabilities", "privilege", "root", "unknown privilege"),
        ("vulnerabilities", "cwe", "CWE 89", "of the form CWE-89"),
        ("vulnerabilities", "attack", "1190", "of the form T1190"),
        ("vulnerabilities", "description", "no sentence", "one sentence"),
        ("vulnerabilities", "id", "Web Thing", "lower-case words"),
        ("services", "description", "", "one sentence"),
        ("services", "description", "A" * 250 + ".", "longer than 200"),
    ],
)
def test_a_wrong_entry_is_named(kind, field, value, message):
    broken = copy.deepcopy(content())
    broken[kind][3][field] = value
    name = broken[kind][3]["id"]
    with pytest.raises(InstanceError, match=re.escape(message)) as error:
        parse_catalogue(broken, "x.json")
    assert "x.json" in str(error.value)
    assert repr(name) in str(error.value)


def test_missing_unknown_and_repeated_entries_are_named():
    broken = content()
    del broken["vulnerabilities"][5]["cwe"]
    with pytest.raises(InstanceError, match="has no 'cwe'"):
        parse_catalogue(broken, "x.json")
    broken = content()
    broken["services"][5]["colour"] = "red"
    with pytest.raises(InstanceError, match="unknown field 'colour'"):
        parse_catalogue(broken, "x.json")
    broken = content()
    broken["services"].append(broken["services"][0])
    with pytest.raises(InstanceError, match="same id"):
        parse_catalogue(broken, "x.json")
    with pytest.raises(InstanceError, match="format"):
        parse_catalogue({"format": 99}, "x.json")


def test_vectors_of_both_feature_sets():
    catalogue = load_catalogue()
    full, paper = load_vectors("full"), load_vectors("paper")
    assert full.vulnerabilities.shape == (len(catalogue.vulnerabilities), 32)
    assert paper.services.shape == (len(catalogue.services), 384)
    np.testing.assert_allclose(np.abs(paper.vulnerabilities).sum(axis=1), 1.0, rtol=1e-4)
    vector = vulnerability_vector(7)
    assert vector.shape == (46,)
    flags = {OUTCOMES[bit] for bit in np.flatnonzero(vector[32:42])}
    assert flags == set(catalogue.vulnerabilities[7].outcomes)
    assert vulnerability_text_vector(7).shape == (384,)


def test_embeddings_tell_meanings_apart():
    """Two weaknesses about passwords are closer than one of them and a flood of datagrams."""
    index = load_catalogue().vulnerability_index
    vectors = load_vectors("paper").vulnerabilities
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    guess, weak, flood = (
        vectors[index[name]]
        for name in ("ssh-password-guessing", "voice-weak-extension-password", "cache-reflection")
    )
    assert guess @ weak > guess @ flood


def test_the_script_writes_what_the_loader_reads(tmp_path):
    def embed(texts):
        rng = np.random.default_rng(len(texts))
        return rng.normal(size=(len(texts), 384)).astype(np.float32)

    path = tmp_path / "vectors.npz"
    embed_catalogue(embed, "noise", path)
    with np.load(path, allow_pickle=False) as archive:
        assert str(archive["digest"]) == load_catalogue().text_digest
        assert archive["vulnerabilities"].dtype == np.float16
        assert archive["components"].shape == (384, 32)
    _, components = principal_components(np.eye(40)[:, :36] * np.arange(1, 37), 5)
    assert components.shape == (36, 5)
    np.testing.assert_allclose(components.T @ components, np.eye(5), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "access", "privilege", "outcomes"),
    [
        ("OWN", "remote", "none", "lateral-movement"),
        ("OWN_BY_CREDENTIALS", "remote", "none", "credential-access"),
        ("ESCALATE", "local", "user", "privilege-escalation"),
        ("SCAN", "remote", "none", "reconnaissance"),
        ("EXPLORE", "local", "user", "reconnaissance discovery"),
        ("REMOTE_EXPLORE", "remote", "none", "reconnaissance discovery"),
        ("EVADE", "remote", "user", "defence-evasion"),
        ("LOCAL_EVADE", "local", "user", "defence-evasion"),
        ("TAKE_DATA", "remote", "user", "collection exfiltration"),
        ("PERSIST", "remote", "none", "collection persistence"),
        ("STOP", "remote", "none", "denial-of-service"),
        ("ADMIN_ENTRY", "remote", "admin", "lateral-movement"),
        ("ADMIN_ONLY", "remote", "admin", "defence-evasion persistence"),
    ],
)
def test_what_the_other_tests_rely_on(name, access, privilege, outcomes):
    catalogue = load_catalogue()
    entry = catalogue.vulnerabilities[catalogue.vulnerability_index[getattr(networks, name)]]
    assert (entry.access, entry.privilege, " ".join(entry.outcomes)) == (
        access,
        privilege,
        outcomes,
    )
