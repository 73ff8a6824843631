"""cluster.yaml and the blocks in its comments, as Ray's launcher reads them, without a cloud.

The functions that check it are private to Ray: they may move in a version other than the one in constraints.txt.
"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.scripts.scripts import start

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "cluster.yaml").read_text()
REPLACED = {"provider", "auth", "head_node_type", "available_node_types", "max_workers"}  # as its first lines say
PROVIDERS = ["aws", "gcp", "local"]


def variants():
    """The document as it stands, and with each block of its comments."""
    written = yaml.safe_load(TEXT)
    found = {written["provider"]["type"]: written}
    for paragraph in TEXT.split("\n\n"):
        lines = paragraph.splitlines()
        if "# provider:" in lines and all(line.startswith("#") for line in lines):
            block = yaml.safe_load("\n".join(line[2:] for line in lines[lines.index("# provider:") :]))
            assert block.keys() <= REPLACED
            kept = {name: value for name, value in written.items() if name not in REPLACED}
            found[block["provider"]["type"]] = kept | block
    return found


@pytest.fixture(params=PROVIDERS)
def config(request):
    return variants()[request.param]


def test_every_provider_is_there_and_the_first_lines_name_what_a_block_replaces():
    assert sorted(variants()) == PROVIDERS
    instruction = TEXT[TEXT.index("in the\n# place of ") : TEXT.index("cluster_name")]
    assert set(re.findall(r"[a-z]+_?[a-z_]+", instruction)) - {"in", "the", "place", "of", "and"} == REPLACED


def test_the_launcher_accepts_it(config):
    prepared = prepare_config(config)
    validate_config(prepared)
    types = prepared["available_node_types"].values()
    assert sum(each["min_workers"] for each in types) >= 2  # so that there is a cluster from the start
    assert prepared["max_workers"] >= max(each["max_workers"] for each in types)


@pytest.mark.parametrize("typo", [{"idle_timeout": 5}, {"head_node_type": "missing"}, {"provider": {}}])
def test_the_launcher_would_refuse_mistakes(typo):
    with pytest.raises(Exception, match=r"idle_timeout|head_node_type|type"):
        validate_config(prepare_config(variants()["aws"] | typo))


def test_every_node_gets_the_token_law_ray_and_the_settings(config):
    prepared = prepare_config(config)
    mounts = prepared["file_mounts"]
    assert mounts["~/.ray/auth_token"] == "~/.ray/auth_token"
    assert (ROOT / mounts["~/law_ray"] / "pyproject.toml").exists()
    for node in ("head", "worker"):
        assert any("~/law_ray" in command for command in prepared[f"{node}_setup_commands"])
        assert prepared[f"{node}_start_ray_commands"][0] == "ray stop"
        command = prepared[f"{node}_start_ray_commands"][-1]
        setting, starting = command.split("ray start ")
        seen = subprocess.run(
            ["bash", "-c", f"{setting} env"], env={"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True
        ).stdout
        assert "RAY_worker_cap_enabled=0" in seen
        assert "RAY_AUTH_MODE=token" in seen  # a machine that joins does not turn it on by itself
        assert "OMP_NUM_THREADS" not in seen
        options = start.make_context("start", shlex.split(starting)).params  # refuses what `ray start` does not know
        assert options["head"] == (node == "head")
        assert ("ray_bootstrap_config.yaml" in str(options["autoscaling_config"])) == (node == "head")


def test_the_image_has_the_versions_that_were_tested(config):
    ray = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
    image, tag = config["docker"]["image"].split(":")
    assert (image, tag) == ("rayproject/ray", f"{ray}-py311")
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text()


def test_spot_is_for_workers_alone():
    for provider, spot in (("aws", "InstanceMarketOptions"), ("gcp", "scheduling")):
        types = variants()[provider]["available_node_types"]
        assert spot in types["worker"]["node_config"]
        assert spot not in types["head"]["node_config"]
