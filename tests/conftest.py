"""What holds for every test: the folder of training jobs is one of its own, never the developer's."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_jobs_of_others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Name an empty folder of jobs, for what the tests start as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLLM_RUNS", str(tmp_path_factory.mktemp("no-jobs") / "runs"))
        yield
