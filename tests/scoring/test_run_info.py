"""What ``run.json`` holds is read and written as it is."""

import json

from boxpen import Run
from boxpen.runs.info import RunInfo
from small_runs import small_run


def test_what_is_read_is_written_again(tmp_path):
    place = small_run("+-+-").save(tmp_path)
    text = (place / "run.json").read_bytes()
    assert (Run.load(place).save(tmp_path / "again") / "run.json").read_bytes() == text


def test_unknown_keys_survive():
    data = small_run("+-+-").info.to_json()
    for part in (data, data["suite"], data["model"], data["recipe"]):
        part["later"] = {"new": [1]}
    assert RunInfo.from_json(json.loads(json.dumps(data))).to_json() == data


def test_runs_of_earlier_versions():
    data = small_run("+-+-").info.to_json()
    for part, key in (("policy", "nli"), ("policy", "context"), ("recipe", "prefixes")):
        del data[part][key]
    del data["unread_sources"], data["engine"]
    info = RunInfo.from_json(data)
    assert (info.policy.nli, info.policy.context) == ("3-way", "given")
    assert info.unread_sources is None
    assert info.engine == {}
