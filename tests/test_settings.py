"""Settings: where they come from, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from catchment import settings
from catchment.errors import SettingsError
from catchment.settings import Settings, load_settings, specs

NOWHERE = Path("/nowhere/.env")


def load(dotenv: Path = NOWHERE, **environ: str) -> Settings:
    return load_settings(environ, dotenv=dotenv)


@pytest.mark.proves("A-16")
def test_with_nothing_set_everything_has_its_default():
    assert load() == Settings()


@pytest.mark.proves("A-18")
def test_collector_interval_is_the_fallback_of_collector_tick():
    assert load(COLLECTOR_INTERVAL="300").tick_seconds == 300
    assert load(COLLECTOR_INTERVAL="300", COLLECTOR_TICK="30").tick_seconds == 30
    assert load().tick_seconds == 60


@pytest.mark.proves("A-23")
def test_the_process_environment_wins_over_the_file(tmp_path):
    file = tmp_path / ".env"
    file.write_text("COLLECTOR_CONCURRENCY=7\nCATCHMENT_PORT=1234\nFETCH_INTERVAL_RSS=30\n")
    settings = load(file, COLLECTOR_CONCURRENCY="9", fetch_interval_reddit="15")
    assert (settings.concurrency, settings.port) == (9, 1234)
    assert settings.intervals_from_file == {"rss": "30"}
    assert settings.intervals_from_environment == {"reddit": "15"}


def test_a_secret_may_come_from_a_file(tmp_path):
    (tmp_path / "key").write_text("sesame\n")
    assert load(API_KEY_FILE=str(tmp_path / "key")).api_key == "sesame"
    with pytest.raises(SettingsError, match="API_KEY_FILE: cannot read"):
        load(API_KEY_FILE=str(tmp_path / "missing"))


@pytest.mark.proves("H-06")
def test_every_secret_may_come_from_a_file(tmp_path):
    file = tmp_path / "secret"
    # Some secrets are addresses.
    file.write_text("https://example.org/a-secret-of-more-than-thirty-two-characters\n")
    secrets = [(field, name) for field, spec, _ in specs() if spec.secret for name in spec.names]
    assert len(secrets) > 10
    for field, name in secrets:
        assert getattr(load(**{f"{name}_FILE": str(file)}), field) == file.read_text().strip(), name
    read = load(CATCHMENT_API_ENV="CATCHMENT_TOKEN", CATCHMENT_TOKEN_FILE=str(file), COOKIE_KEY_KEY_V1_FILE=str(file))
    assert read.api_env_values == {"CATCHMENT_TOKEN": file.read_text().strip()}
    assert read.cookie_earlier_keys == {"key_v1": file.read_text().strip()}
    assert read.unknown_variables == {}
    assert load(COOKIE_KEY_ID="key_v2", COOKIE_KEY_SALT="salt").cookie_earlier_keys == {}


@pytest.mark.proves("H-06")
def test_an_empty_file_is_no_secret(tmp_path):
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(SettingsError, match=r"^CATCHMENT_SECRET_KEY_FILE: .* is empty"):
        load(CATCHMENT_SECRET_KEY_FILE=str(tmp_path / "empty"))


def test_what_is_not_utf_8_is_told_by_the_name_of_the_file_that_holds_it(tmp_path):
    file = tmp_path / ".env"
    file.write_bytes("API_KEY=café".encode("latin-1"))
    with pytest.raises(SettingsError, match=r"\.env is not text in UTF-8"):
        load(file)
    with pytest.raises(SettingsError, match=r"^API_KEY_FILE: .* is not text in UTF-8"):
        load(API_KEY_FILE=str(file))


@pytest.mark.parametrize(
    ("name", "junk"),
    [
        ("COLLECTOR_TICK", "soon"),
        ("COLLECTOR_TICK", "0"),
        ("COLLECTOR_TICK", "nan"),
        ("COLLECTOR_CONCURRENCY", "0"),
        ("COLLECTOR_CONCURRENCY", "2.5"),
        ("CATCHMENT_PORT", "70000"),
        ("CATCHMENT_PACE_ALLOWED", "maybe"),
        ("LOG_LEVEL", "loud"),
        ("COOKIE_DAILY_TZ", "Asia"),
        ("COOKIE_DAILY_TZ", "Nowhere/Land"),
        ("CATCHMENT_LOG_FORMAT", "xml"),
    ],
)
def test_a_wrong_value_names_its_variable_and_what_is_expected(name, junk):
    with pytest.raises(SettingsError, match=f"^{name}: .*{junk}") as error:
        load(**{name: junk})
    assert " is not " in str(error.value)


def test_an_empty_value_counts_as_not_set():
    assert load(COLLECTOR_TICK=" ", API_KEY="") == Settings()


def test_every_setting_says_what_it_is_for():
    for _, spec, _ in specs():
        assert spec.help.endswith(".")
        assert spec.names


@pytest.mark.proves("E-07")
def test_no_secret_is_shown_when_settings_are():
    secret = {spec.names[0]: f"https://planted.example/{'x' * 32}" for _, spec, _ in specs() if spec.secret}
    assert len(secret) > 5
    assert "planted" not in repr(load(**secret))


@pytest.mark.proves("E-19")
@pytest.mark.parametrize(
    ("variable", "default", "other"),
    [
        ("LOCK_TIMEOUT_MINUTES", 30, "7"),
        ("RECOVERY_INTERVAL_MINUTES", 15, "7"),
        ("COOLING_DURATION_MINUTES", 30, "7"),
        ("MAX_CONSECUTIVE_ERRORS", 3, "7"),
        ("MAX_TOTAL_ERRORS", 10, "7"),
        ("SEARCH_TIMEOUT", 30, "7"),
        ("DETAIL_TIMEOUT", 15, "7"),
        ("CATCHMENT_DETAIL_BATCH_TIMEOUT", 60, "7"),
        ("BATCH_SIZE", 10, "7"),
        ("CRAWL_CONCURRENCY", 1, "7"),
        ("CRAWL_SPACING_SECONDS", 2, "7"),
        ("COOKIE_KEY_SALT", "mediacrawler_v3", "7"),
        ("COOKIE_KEY_ID", "key_v1", "7"),
        ("COOKIE_DAILY_TZ", "Asia/Shanghai", "UTC"),
    ],
)
def test_the_constants_of_the_crawler_are_settings_by_its_names_and_defaults(variable, default, other):
    field = next(field for field, spec, _ in specs() if variable in spec.names)
    assert getattr(load(), field) == default
    assert str(getattr(load(**{variable: other}), field)).removesuffix(".0") == other


@pytest.mark.proves("E-07")
@pytest.mark.parametrize("key", ["short", "x" * 31])
def test_a_master_key_that_is_too_short_is_refused_without_being_shown(key):
    with pytest.raises(SettingsError, match="at least 32 characters") as refused:
        load(COOKIE_MASTER_KEY=key)
    assert key not in str(refused.value)


@pytest.mark.proves("E-07")
def test_passphrases_of_earlier_keys_go_by_the_names_of_the_keys():
    settings = load(COOKIE_KEY_ID="key_v2", COOKIE_KEY_KEY_V1="an earlier passphrase for the tests")
    assert settings.cookie_key_id == "key_v2"
    assert settings.cookie_earlier_keys == {"key_v1": "an earlier passphrase for the tests"}


@pytest.mark.proves("R-37")
def test_in_a_clone_and_beside_a_data_folder_with_a_store_the_data_is_found_without_a_variable(tmp_path):
    clone, other = tmp_path / "clone", tmp_path / "other"
    for folder in (clone / "src/catchment/settings", clone / "docs", other / "data"):
        folder.mkdir(parents=True)
    (clone / "pyproject.toml").touch()
    assert load(clone / ".env").home == load(clone / "docs" / ".env").home == clone / "data"
    assert load(other / ".env").home == Settings().home, "a data folder of somebody else's"
    (other / "data" / "catchment.sqlite3").touch()
    assert load(other / ".env").home == other / "data"
    assert not load(other / ".env").is_store_named
    named = load(other / ".env", CATCHMENT_HOME="/elsewhere")
    assert (named.home, named.is_store_named) == (Path("/elsewhere"), True)


@pytest.mark.proves("R-38")
def test_unknown_variables_are_told_from_those_of_others():
    unknown = load(CATCHMENT_WHATEVER="1", SCRAPER_LIMITS="5", SCRAPER_OF_OTHERS="6", PATH="x").unknown_variables
    assert unknown == {"CATCHMENT_WHATEVER": "", "SCRAPER_LIMITS": "SCRAPER_LIMIT"}


@pytest.mark.proves("H-06")
def test_a_user_without_a_home_has_the_data_in_the_working_folder(monkeypatch: pytest.MonkeyPatch):
    def nobody_knows(_: str) -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr(settings, "user_data_path", nobody_knows)
    assert settings._data_folder() == Path("data")


def test_a_working_folder_that_may_not_be_looked_into_has_no_settings() -> None:
    # As /root for whoever `sudo -u` names; a name so long is refused by the system as that is.
    nowhere = Path("x" * 300)
    assert load_settings({"API_KEY": "ours"}, dotenv=nowhere / ".env").api_key == "ours"


def test_a_working_folder_that_was_removed_has_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert load_settings({"API_KEY": "ours"}).api_key == "ours"
