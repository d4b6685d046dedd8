"""Every error a user can meet. Its text is one sentence or two: what is wrong, and what to do.

CllmError
├── ConfigError             a setting is out of its bounds, or two settings contradict each other
├── PromptError             an empty prompt, or one that does not fit the model's context
├── ModelError              a model could not be had, or gives no usable scores
│   ├── ModelNotFound       no such folder, hub id or pair
│   ├── ModelOffline        it would have to be fetched, and there is no network
│   ├── ModelGated          the hub wants a licence accepted or a token
│   ├── DownloadError       the bundled model's download was broken or altered
│   └── UnsupportedModel    an architecture that cannot roll its cache back, or no safetensors
├── FormatError             a file is not what it should be (trajectory, prompts, config)
│   └── NewerFormat         it was written by a newer version of this program
├── TaskError               a task's data is missing or malformed
├── TrainingError           a training run cannot start or cannot go on
└── ExportError             an export cannot be made here
"""


class CllmError(Exception):
    """Base of all errors whose text is meant for the user."""


class ConfigError(CllmError, ValueError):
    """A setting is out of its bounds, or two settings contradict each other."""


class PromptError(CllmError, ValueError):
    """The prompt is empty or does not fit the model's context."""


class ModelError(CllmError):
    """A model could not be had, or gives no usable scores."""


class ModelNotFound(ModelError):
    """There is no such folder, hub id or pair."""


class ModelOffline(ModelError):
    """The model would have to be fetched, and there is no network."""


class ModelGated(ModelError):
    """The hub wants a licence accepted or a token."""


class DownloadError(ModelError):
    """The bundled model's download was broken or altered."""


class UnsupportedModel(ModelError):
    """The architecture cannot roll its cache back, or the weights are not safetensors."""


class FormatError(CllmError, ValueError):
    """A file is not what it should be."""


class NewerFormat(FormatError):
    """The file was written by a newer version of this program."""


class TaskError(CllmError):
    """A task's data is missing or malformed."""


class TrainingError(CllmError):
    """A training run cannot start or cannot go on."""


class ExportError(CllmError):
    """An export cannot be made here."""
