"""Policies and signatures."""

from __future__ import annotations

import dataclasses

import pytest

from boxpen import PolicyError, ScoringPolicy, __version__
from boxpen.scoring.signature import signature

PARTS = {
    "suite": "cats",
    "suite_hash": "0123456789abcdef",
    "model": "hf:gpt2",
    "fingerprint": "fedcba9876543210",
    "kind": "causal",
    "recipe": "sound@abcdef",
}


def test_the_default_is_the_sound_policy():
    policy = ScoringPolicy()
    assert (policy.bos, policy.eos, policy.norm) == ("auto", "auto", "sum")
    assert (policy.pll, policy.ties) == ("within_word_l2r", "half")


@pytest.mark.parametrize("field", ["bos", "eos", "norm", "pll", "ties", "dtype", "precision"])
@pytest.mark.parametrize("value", ["", "Auto", "sometimes", 0, None])
def test_wrong_values_are_refused_by_name(field, value):
    with pytest.raises(PolicyError, match=f"^{field} is "):
        ScoringPolicy(**{field: value})


@pytest.mark.parametrize("length", [0, 1, -5])
def test_trap_25_zero_is_not_unset(length):
    """A zero that silently means "not given": a length of 0 is refused, not ignored."""
    with pytest.raises(PolicyError, match=f"max_length is {length}"):
        ScoringPolicy(max_length=length)
    with pytest.raises(PolicyError, match=f"max_length is {length}"):
        ScoringPolicy().but(max_length=length)


def test_but():
    policy = ScoringPolicy().but(norm="token", bos=None)
    assert policy == ScoringPolicy(norm="token")
    with pytest.raises(PolicyError, match="'nrom' is unknown, did you mean 'norm'"):
        ScoringPolicy().but(nrom="token")
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.norm = "sum"


def test_signature():
    line = signature(**PARTS, bos=True, eos=False, pll=None, norm="sum")
    assert line == (
        "suite:cats@01234567|model:hf:gpt2@fedcba98|kind:causal|recipe:sound@abcdef"
        f"|bos:yes|eos:no|norm:sum|version:{__version__}"
    )


def test_a_separator_in_a_name_cannot_forge_a_field():
    line = signature(**{**PARTS, "model": "x|norm:token"}, norm="sum")
    assert len(line.split("|")) == 6


@pytest.mark.parametrize("part", list(PARTS))
def test_every_part_shows(part):
    assert signature(**PARTS) != signature(**{**PARTS, part: "another"})
