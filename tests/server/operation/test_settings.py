import re
import secrets
from typing import Any

import pytest

from dither_server.errors import StartRefused
from dither_server.settings import Settings, load_settings, weaknesses


def test_there_are_defaults_for_everything() -> None:
    settings = load_settings()
    assert settings.database == "sqlite:///dither.sqlite"
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.secret is None
    assert settings.admin_token is None


def test_every_setting_is_described() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_variables_are_read_and_arguments_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_PORT", "9000")
    monkeypatch.setenv("DITHER_HOST", "0.0.0.0")
    settings = load_settings(port=9001, host=None)
    assert (settings.host, settings.port) == ("0.0.0.0", 9001)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [("DITHER_ADMIN_TOKN", "DITHER_ADMIN_TOKEN"), ("DITHER_HOTS", "DITHER_HOST"), ("DITHER_DB", "DITHER_DATABASE")],
)
def test_an_unknown_variable_is_refused_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "x")
    with pytest.raises(StartRefused, match=rf"no setting {variable}: did you mean {meant}\?"):
        load_settings()


def test_an_unknown_variable_that_is_like_no_other_has_no_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_FOO", "1")
    with pytest.raises(StartRefused, match=r"no setting DITHER_FOO: docs/operators\.md lists"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "abc", "it must be a whole number"),
        ("PUBLIC_METRICS", "maybe", "it must be true or false"),
        ("TICKETS_PER_MINUTE", "ten", "it must be a (whole )?number"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"DITHER_{name}", value)
    with pytest.raises(StartRefused, match=rf"^DITHER_{name} cannot be used: {said}\.$"):
        load_settings()


def test_the_command_lines_own_variables_are_let_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("DITHER_TOKEN", "x")
    load_settings()


@pytest.mark.parametrize(("name", "value"), [("PORT", "65536"), ("PORT", "web"), ("LOG_FORMAT", "xml")])
def test_a_value_that_is_not_allowed_is_refused_in_a_sentence_without_it(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"DITHER_{name}", value)
    with pytest.raises(StartRefused, match=rf"^DITHER_{name} cannot be used: .+\.$") as caught:
        load_settings()
    assert value not in str(caught.value)


@pytest.mark.parametrize("show", [repr, str, lambda settings: settings.model_dump_json()])
def test_secrets_are_masked_wherever_they_are_shown(show: Any) -> None:
    settings = load_settings(
        secret="swordfish-and-chips", admin_token="trout-for-two", metrics_token="eel-for-everyone"
    )
    for secret in ("swordfish", "trout", "eel-"):
        assert secret not in show(settings)


@pytest.mark.parametrize("show", [repr, str])
def test_a_password_in_the_databases_url_is_not_shown(show: Any) -> None:
    assert "swordfish" not in show(load_settings(database="postgresql+psycopg://someone:swordfish@127.0.0.1/test"))


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_an_empty_variable_is_as_good_as_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"DITHER_{name.upper()}", "")
    assert load_settings() == Settings()


@pytest.mark.parametrize("secret", ["x", "   ", "fifteen letters", "a" * 64, "abababababababababab", "1234567" * 9])
def test_a_secret_that_is_easily_guessed_is_warned_of(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_SECRET", secret)
    [sentence] = weaknesses(load_settings())
    assert re.fullmatch(r"DITHER_SECRET is easy to guess, .+openssl rand -hex 32\.", sentence)
    assert secret.strip() == "" or f" {secret} " not in sentence


@pytest.mark.parametrize("name", ["ADMIN_TOKEN", "METRICS_TOKEN"])
def test_a_token_that_is_easily_guessed_is_warned_of(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"DITHER_{name}", "eleven-long")
    assert weaknesses(load_settings()) == [f"DITHER_{name} is easy to guess: make one with openssl rand -hex 32."]


@pytest.mark.parametrize("name", ["ADMIN_TOKEN", "METRICS_TOKEN"])
@pytest.mark.parametrize("token", ["token of many words", "token-with-an-ümlaut", "token-and-newline\n"])
def test_a_token_that_cannot_be_sent_is_refused(name: str, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"DITHER_{name}", token)
    with pytest.raises(StartRefused, match=rf"^DITHER_{name} must be ASCII without spaces, .+\.$"):
        load_settings()


def test_random_secrets_and_tokens_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (secrets.token_hex(16), secrets.token_hex(32), secrets.token_urlsafe(12), secrets.token_urlsafe(32)):
        for name in ("SECRET", "ADMIN_TOKEN", "METRICS_TOKEN"):
            monkeypatch.setenv(f"DITHER_{name}", text)
        assert weaknesses(load_settings()) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "survey.example.org"])
def test_a_server_for_others_without_a_proxy_that_it_knows_is_warned_of(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_HOST", host)
    [sentence] = weaknesses(load_settings())
    assert sentence.startswith("As far as the server knows, https does not protect sign-ins")
    monkeypatch.setenv("DITHER_TRUSTED_PROXIES", "10.0.0.1")
    assert weaknesses(load_settings()) == []


def test_a_public_address_by_https_needs_a_proxy_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_PUBLIC_URL", "https://survey.example.org/")
    with pytest.raises(StartRefused, match=r"^DITHER_PUBLIC_URL is https, but DITHER_TRUSTED_PROXIES names no proxy"):
        load_settings()
    monkeypatch.setenv("DITHER_TRUSTED_PROXIES", "10.0.0.1")
    assert load_settings().public_url == "https://survey.example.org"
    monkeypatch.setenv("DITHER_TRUSTED_PROXIES", "")
    monkeypatch.setenv("DITHER_PUBLIC_URL", "http://survey.example.org")
    assert load_settings().public_url == "http://survey.example.org"


@pytest.mark.parametrize(
    "value", ["survey.example.org", "ftp://a.example", "https://", "https://a:b@c.example", "https://a.example/?x"]
)
def test_a_public_address_that_is_none_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_PUBLIC_URL", value)
    with pytest.raises(StartRefused, match=r"^DITHER_PUBLIC_URL cannot be used: it must be an address such as"):
        load_settings()
