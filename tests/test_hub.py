"""A folder is checked before it is loaded, a hub repo before it is downloaded; each failure is one sentence."""

import json
import shutil
import socket

import pytest
from model_folders import COMMIT, edit_config, hub_server, write_adapter, write_model

from cllm_core import hub
from cllm_core.errors import DownloadError, ModelGated, ModelNotFound, ModelOffline, UnsupportedModel

SECRET = "hf_averysecrettoken"


@pytest.fixture(scope="module")
def whole_folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def folder(whole_folder, tmp_path):
    return shutil.copytree(whole_folder, tmp_path / "tiny")


def test_a_whole_folder_passes(folder):
    hub.check_folder(folder, "tiny")


def test_a_missing_folder_is_said(tmp_path):
    with pytest.raises(ModelNotFound, match="There is no folder tiny: check the path"):
        hub.check_folder(tmp_path / "none", "tiny")


def test_a_folder_without_config_is_no_model(folder):
    (folder / "config.json").unlink()
    with pytest.raises(ModelNotFound, match=r"tiny is not a model folder, it has no config.json"):
        hub.check_folder(folder, "tiny")


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_an_unreadable_config_is_said(folder, text):
    (folder / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(DownloadError, match=r"config.json of tiny .*: fetch the model again"):
        hub.check_folder(folder, "tiny")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "consolidated.00.pth"])
def test_pickled_weights_are_refused(folder, name):
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(UnsupportedModel, match=r"tiny has its weights only as pickle files.*save_pretrained"):
        hub.check_folder(folder, "tiny")


def test_a_folder_without_weights_is_said(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(UnsupportedModel, match=r"tiny has no weights in .safetensors files"):
        hub.check_folder(folder, "tiny")


def test_a_missing_shard_is_named(folder):
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(DownloadError, match=r"tiny is incomplete, model-00002-of-00002.safetensors is missing"):
        hub.check_folder(folder, "tiny")


@pytest.mark.parametrize("index", [{}, {"weight_map": None}, {"weight_map": {"a": 5}}])
def test_a_list_of_shards_that_is_none_is_said(folder, index):
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(DownloadError, match="list of the weight files of tiny cannot be read: fetch the model again"):
        hub.check_folder(folder, "tiny")


@pytest.mark.parametrize("keep", [0, 5, 200, -1])
def test_truncated_weights_are_said(folder, keep):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    with pytest.raises(DownloadError, match=r"model.safetensors of tiny is cut off or damaged: fetch the model again"):
        hub.check_folder(folder, "tiny")


def test_a_folder_without_tokenizer_is_said(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(UnsupportedModel, match="tiny has no tokenizer files"):
        hub.check_folder(folder, "tiny")


def test_code_of_a_repository_is_never_run(folder):
    edit_config(folder, model_type="homemade", auto_map={"AutoModelForCausalLM": "modeling.Homemade"})
    (folder / "modeling.py").write_text("raise SystemExit('the code was run')")
    with pytest.raises(UnsupportedModel, match="tiny needs Python code from its own repository, which is never run"):
        hub.check_folder(folder, "tiny")


def test_a_known_architecture_passes_though_its_repository_has_code(folder):
    """Repositories of models that the library has adopted since often keep their old auto_map."""
    edit_config(folder, auto_map={"AutoModelForCausalLM": "modeling.Homemade"})
    hub.check_folder(folder, "tiny")


@pytest.mark.parametrize("kind", ["homemade", None, "vit"])
def test_an_unknown_architecture_is_named(folder, kind):
    edit_config(folder, model_type=kind)
    with pytest.raises(UnsupportedModel, match=f"does not know .{kind!r}."):
        hub.check_folder(folder, "tiny")


def test_an_adapter_says_what_it_was_trained_on(tmp_path):
    adapter = write_adapter(tmp_path / "adapter", "owner/base")
    hub.check_folder(adapter, "adapter")
    assert hub.is_adapter(adapter)
    assert hub.adapter_base(adapter, "adapter") == "owner/base"
    (adapter / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelNotFound, match="adapter does not say which base model"):
        hub.adapter_base(adapter, "adapter")


@pytest.fixture
def served(whole_folder, tmp_path, monkeypatch):
    """A Hub on this machine, with an empty cache; returns the paths that were asked for."""
    from huggingface_hub import constants

    pickled, foreign = tmp_path / "pickled", tmp_path / "foreign"
    shutil.copytree(whole_folder, pickled)
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    shutil.copytree(whole_folder, foreign)
    edit_config(foreign, model_type="homemade")
    repos = {"owner/tiny": whole_folder, "owner/pickled": pickled, "owner/foreign": foreign}
    refusals = {
        "owner/gated": (403, {"X-Error-Code": "GatedRepo", "X-Error-Message": f"not authorised: {SECRET}"}),
        "owner/login": (401, {"X-Error-Code": "GatedRepo"}),
        "owner/token": (401, {"X-Error-Message": "Invalid credentials in Authorization header"}),
        "owner/private": (401, {"X-Error-Code": "RepoNotFound"}),
        "owner/forbidden": (403, {}),
        "owner/disabled": (403, {"X-Error-Message": "Access to this resource is disabled."}),
        "owner/broken": (500, {}),
    }
    monkeypatch.setenv("HF_TOKEN", SECRET)
    with hub_server(repos, refusals) as (address, asked):
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
        )
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield asked


def test_a_hub_model_is_fetched_once_with_progress(served, whole_folder):
    reports = []
    folder = hub.fetch_repo("owner/tiny", report=lambda *report: reports.append(report))
    assert folder.name == COMMIT
    assert (folder / "model.safetensors").read_bytes() == (whole_folder / "model.safetensors").read_bytes()
    done, total, stage = reports[-1]
    assert stage == "Downloading owner/tiny"
    assert done == total > 0
    assert [report[0] for report in reports] == sorted(report[0] for report in reports)
    before = len(served)
    assert hub.fetch_repo("owner/tiny") == folder
    assert len(served) == before


def test_an_interrupted_hub_download_is_taken_up_again(served):
    folder = hub.fetch_repo("owner/tiny")
    (folder / "model.safetensors").unlink()
    assert (hub.fetch_repo("owner/tiny") / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("repo", "error", "said"),
    [
        ("owner/gated", ModelGated, "owner/gated is gated: accept its licence .*hf auth login"),
        ("owner/login", ModelGated, "owner/login is gated"),
        ("owner/forbidden", ModelGated, "owner/forbidden is gated"),
        ("owner/token", ModelGated, "refused the login for owner/token"),
        ("owner/private", ModelNotFound, "has no model owner/private .* check the spelling .*hf auth login"),
        ("owner/mistyped", ModelNotFound, "has no model owner/mistyped .* check the spelling"),
        ("owner/disabled", ModelNotFound, "has no model owner/disabled"),
        ("owner/--bad..id", ModelNotFound, "has no model owner/--bad..id"),
        ("owner/broken", ModelOffline, "answered 500 for owner/broken: try again later"),
        ("owner/pickled", UnsupportedModel, "owner/pickled has no weights in .safetensors files"),
        ("owner/foreign", UnsupportedModel, "owner/foreign has an architecture .*homemade"),
    ],
)
def test_every_refusal_of_the_hub_is_one_sentence(served, repo, error, said):
    with pytest.raises(error, match=said) as caught:
        hub.fetch_repo(repo)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_of_an_unsupported_model_are_not_downloaded(served):
    with pytest.raises(UnsupportedModel):
        hub.fetch_repo("owner/foreign")
    assert not [path for path in served if path.endswith(".safetensors")]


def test_a_missing_revision_is_said(served):
    with pytest.raises(ModelNotFound, match="owner/tiny has no revision 'v9': check the part after the @"):
        hub.fetch_repo("owner/tiny", "v9")


def test_no_network_is_said(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelOffline, match=r"owner/tiny is not on this machine and .* cannot be reached"):
        hub.fetch_repo("owner/tiny")


def test_offline_mode_is_said_and_makes_no_call(tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(socket.socket, "connect", lambda *arguments: pytest.fail("a network call was made"))
    with pytest.raises(ModelOffline, match="HF_HUB_OFFLINE is set: unset it, or name a folder"):
        hub.fetch_repo("owner/tiny")


def test_a_full_disk_is_said(monkeypatch):
    error = OSError(28, "No space left on device")
    assert "No space left on device" in str(hub.hub_error("owner/tiny", "", error))
    assert isinstance(hub.hub_error("owner/tiny", "", error), DownloadError)
