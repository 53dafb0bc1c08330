import inspect
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from mcp_server.errors import ModelNotConfigured, ScriptFault
from mcp_server.redaction import secrets_of
from mcp_server.sessions.models import direct
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.endpoints import Endpoint, ProviderConfig
from mcp_server.sessions.models.names import ProviderModel, ScriptedModel, parse_model
from mcp_server.sessions.models.provider import DIRECT, DirectTurn, ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend
from mcp_server.sessions.models.scrub import scrubbed
from tests.bounds import LONG
from tests.models.transcripts import request, stored, task

ROOT = Path(__file__).parents[2]


def backends(base: Path, *configs: ProviderConfig, **environment: str) -> Backends:
    provider = ProviderBackend(providers={config.name: config for config in configs}, environment=environment)
    return Backends(scripted=ScriptedBackend(base=base), provider=provider)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("openai:gpt-5", ProviderModel(provider="openai", model="gpt-5")),
        ("openai/gpt-5", ProviderModel(provider="openai", model="gpt-5")),
        ("OpenAI:GPT-5", ProviderModel(provider="openai", model="GPT-5")),
        ("ollama:llama3.2:3b", ProviderModel(provider="ollama", model="llama3.2:3b")),
        ("ollama/llama3.2:3b", ProviderModel(provider="ollama", model="llama3.2:3b")),
        ("openrouter:anthropic/claude", ProviderModel(provider="openrouter", model="anthropic/claude")),
        ("openrouter/anthropic/claude:free", ProviderModel(provider="openrouter", model="anthropic/claude:free")),
        ("scripted:stories/one.yaml", ScriptedModel(file="stories/one.yaml")),
        (" scripted:a b.yaml ", ScriptedModel(file="a b.yaml")),
    ],
)
def test_a_model_string_is_taken_apart_at_its_first_separator(text: str, name: object) -> None:
    assert parse_model(text, "build") == name


@pytest.mark.parametrize("text", ["", "  ", "gpt-5", ":gpt-5", "openai:", "open ai:gpt", "openai:gpt 5", "scripted:", "scripted: "])
def test_a_model_string_that_names_nothing_says_what_to_write(text: str) -> None:
    with pytest.raises(ModelNotConfigured, match=r"`build`.*`scripted:<file>`"):
        parse_model(text, "build")


async def test_without_a_model_the_error_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ModelNotConfigured, match="no model is set for agent `explore`: set `model` in your settings"):
        await backends(tmp_path).turn(request(stored([task()]), model=""))


async def test_a_relative_script_is_taken_from_the_base_folder_and_an_absolute_one_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "a.yaml").write_text("explore: [{text: here}]")
    for model in ("scripted:inside/a.yaml", f"scripted:{tmp_path}/inside/a.yaml"):
        with anyio.fail_after(LONG):
            turn = await backends(tmp_path).turn(request(stored([task()]), model=model))
        assert turn.text == "here"
    with pytest.raises(ScriptFault, match="cannot be read"):
        await backends(tmp_path / "inside").turn(request(stored([task()]), model="scripted:inside/a.yaml"))


# ---- keys and addresses --------------------------------------------------------------------------


def test_a_provider_without_a_key_says_which_variable_to_set(tmp_path: Path) -> None:
    with pytest.raises(ModelNotConfigured, match="provider `anthropic` has no key: set the variable `ANTHROPIC_API_KEY`"):
        backends(tmp_path).check("anthropic:claude", "build")


def test_a_key_that_the_configuration_names_and_that_is_not_there_is_not_replaced_by_another(tmp_path: Path) -> None:
    config = ProviderConfig(name="openai", api_key_env="WORK_KEY")
    with pytest.raises(ModelNotConfigured, match="the key of provider `openai` is not there: set the variable `WORK_KEY`"):
        backends(tmp_path, config, OPENAI_API_KEY="sk-private").check("openai:gpt", "build")


def test_a_key_is_read_from_its_file_each_time(tmp_path: Path) -> None:
    file = tmp_path / "key"
    provider = backends(tmp_path, ProviderConfig(name="openai", api_key_file=file)).provider
    for key in ("first-key", "second-key"):
        file.write_text(f"{key}\n")
        assert provider.endpoint(ProviderModel(provider="openai", model="m")).key == key


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"one\ntwo", b"\xff\xfe", b"k" * 20_000])
def test_a_key_file_that_holds_anything_else_is_refused_without_showing_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(ModelNotConfigured, match=r"key file .* of provider `openai`") as raised:
        backends(tmp_path, ProviderConfig(name="openai", api_key_file=file)).check("openai:gpt", "build")
    assert "words" not in str(raised.value)
    assert "kkk" not in str(raised.value)


def test_a_key_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotConfigured, match="cannot be read: No such file"):
        backends(tmp_path, ProviderConfig(name="openai", api_key_file=tmp_path / "none")).check("openai:gpt", "build")


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelNotConfigured, match="`base_url` of provider `lab` must begin with"):
        backends(tmp_path, ProviderConfig(name="lab", base_url="localhost:8000")).check("lab:small", "build")


def test_a_providers_usual_variables_name_its_address_and_key_together(tmp_path: Path) -> None:
    provider = backends(tmp_path, OPENAI_BASE_URL="http://localhost:9/v1", OPENAI_API_KEY="sk-12345678").provider
    endpoint = provider.endpoint(ProviderModel(provider="openai", model="m"))
    assert endpoint == Endpoint(provider="openai", model="m", base_url="http://localhost:9/v1", key="sk-12345678")


def test_a_key_does_not_show_where_an_endpoint_or_a_back_end_is_printed(tmp_path: Path) -> None:
    made = backends(tmp_path, OPENAI_API_KEY="sk-12345678")
    assert "sk-12345678" not in repr(made)
    assert "sk-12345678" not in repr(made.provider.endpoint(ProviderModel(provider="openai", model="m")))


async def test_a_provider_that_nobody_knows_needs_an_address(tmp_path: Path) -> None:
    with anyio.fail_after(LONG), pytest.raises(ModelNotConfigured, match=r"provider `nowhere` .* give it a `base_url`"):
        await backends(tmp_path).turn(request(stored([task()]), model="nowhere:small"))


async def test_a_provider_whose_library_is_missing_names_the_extra(tmp_path: Path) -> None:
    made = backends(tmp_path, MISTRAL_API_KEY="k-12345678")
    with pytest.raises(ModelNotConfigured, match=r"not installed: install the package `pydantic-ai-slim\[mistral\]`"):
        made.check("mistral:small", "build")
    with anyio.fail_after(LONG), pytest.raises(ModelNotConfigured, match="provider `mistral` needs a library that is not installed"):
        await made.turn(request(stored([task()]), model="mistral:small"))


def test_what_is_configured_passes_the_check(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("build: [{text: a}]")
    made = backends(tmp_path, ProviderConfig(name="lab", base_url="http://localhost:9/v1"), OPENAI_API_KEY="sk-12345678")
    for model in ("scripted:a.yaml", "openai:gpt-5", "lab/small", "ollama:llama3"):
        made.check(model, "build")
    with pytest.raises(ModelNotConfigured, match="is not there"):
        made.check("scripted:b.yaml", "build")


def test_the_providers_library_is_not_loaded_before_a_turn_needs_it() -> None:
    code = "import sys, mcp_server.sessions.models.backends; print([m for m in sys.modules if m.startswith(('pydantic_ai', 'openai'))])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=180, check=True)
    assert out.stdout.strip() == "[]"


WITHOUT_LIBRARY = """
import sys
sys.modules["pydantic_ai"] = None
import anyio
from pathlib import Path
from mcp_server.errors import ModelNotConfigured
from mcp_server.sessions.models.backends import Backends
from mcp_server.sessions.models.provider import ProviderBackend
from mcp_server.sessions.models.scripted import ScriptedBackend
from tests.models.transcripts import request, stored, task

made = Backends(scripted=ScriptedBackend(base=Path()), provider=ProviderBackend(environment={"ANTHROPIC_API_KEY": "k-12345678"}))
try:
    anyio.run(made.turn, request(stored([task()]), model="anthropic:m"))
except ModelNotConfigured as error:
    print(error)
"""


def test_without_the_library_of_providers_a_turn_says_what_to_install() -> None:
    out = subprocess.run([sys.executable, "-c", WITHOUT_LIBRARY], capture_output=True, text=True, timeout=180, check=True, cwd=ROOT)
    assert out.stdout.strip() == ("provider `anthropic` needs a library that is not installed: install the extra `anthropic` of Remit")


# ---- secrets -------------------------------------------------------------------------------------


def test_secrets_are_the_keys_and_what_stands_under_a_telling_name_longest_first() -> None:
    environment = {"A_KEY": "longer-secret", "HOME": "/home/someone", "B_TOKEN": "on", "C_PASSWORD": "hunter22"}
    assert secrets_of(environment, "the-longest-secret", None) == ("the-longest-secret", "longer-secret", "hunter22")


def test_the_folder_that_a_shell_is_in_is_no_secret() -> None:
    assert secrets_of({"PWD": "/home/someone/project", "OLDPWD": "/home/someone", "DB_PWD": "hunter22"}) == ("hunter22",)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no hunter22 here", "no [secret] here"),
        ("Authorization: Bearer abc.def-123456", "Authorization: [secret]"),
        ("key sk-proj-abc123456 is wrong", "key [secret] is wrong"),
        ("http://me:pass@host/v1", "http://[secret]@host/v1"),
        ("two\nlines\tand \x1b[2J more", "two lines and [2J more"),
        ("a risk-free monkey-wrench", "a risk-free monkey-wrench"),
    ],
)
def test_a_text_from_outside_is_shown_on_one_line_without_secrets(text: str, shown: str) -> None:
    assert scrubbed(text, ("hunter22",)) == shown


def test_the_module_that_is_loaded_by_name_keeps_its_promise() -> None:
    parameters = inspect.signature(direct.turn).parameters
    assert direct.__name__ == DIRECT
    assert list(parameters) == list(inspect.signature(DirectTurn.__call__).parameters)[1:]
