"""Signing in to a gateway's console, at an issuer and with an API key; and all that must not let anybody in."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from mcp_server.gateway.attempts import ATTEMPT_SECONDS, MOST_ATTEMPTS, MOST_FROM_ONE, MOST_TRIES, TRIES_SECONDS, Attempts
from mcp_server.gateway.issuers import PAUSE
from mcp_server.gateway.sign_in import LONGEST_SECONDS, SILENT_SECONDS
from tests.authorization.walking import walked
from tests.gateway.browsing import hidden_in, words_of
from tests.gateway.teamed import BROWSER, CLIENT, VISIT, Window, teamed


def given_cookies(answer: httpx2.Response) -> dict[str, str]:
    """The whole text of each cookie that an answer sets, by name."""
    return {one.partition("=")[0]: one for one in answer.headers.get_list("set-cookie")}


# ---- at the issuer ------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [False, True], ids=["with a secret", "public"])
async def test_a_person_signs_in_at_the_issuer_and_is_shown_the_page_that_was_wanted(public: bool, tmp_path: Path) -> None:
    async with teamed(tmp_path, public=public) as team:
        window = team.window()
        wanted = await window.get("audit?kind=prompt")
        assert wanted.status_code == 403
        assert "Sign in at" in wanted.text
        assert "next=%2Fconsole%2Faudit%3Fkind%3Dprompt" in wanted.text
        page = await window.enter(team.issuer.member("ada", preferred_username="Ada Lovelace"), "%2Fconsole%2Faudit%3Fkind%3Dprompt")
        assert page.status_code == 200
        assert page.url.path == "/console/audit"
        assert "Ada Lovelace" in page.text
        assert await window.inside()
        assert not await team.window().inside()


@pytest.mark.parametrize("way", ["client_secret_post", "client_secret_basic"])
async def test_the_secret_is_shown_in_the_way_that_the_issuer_takes(way: str, tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        team.issuer.metadata = {"token_endpoint_auth_methods_supported": [way]}
        assert await (await team.window_of("ada")).inside()


async def test_the_issuer_is_asked_for_a_code_with_everything_that_binds_it_to_this_sign_in(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        said = [parse_qs(urlsplit(await window.sent_away()).query) for _ in range(2)]
        for one in said:
            assert one["response_type"] == ["code"]
            assert one["client_id"] == [CLIENT]
            assert one["redirect_uri"] == [f"{team.url}/callback"]
            assert one["code_challenge_method"] == ["S256"]
            assert one["scope"] == ["openid"]
        for name in ("state", "nonce", "code_challenge"):
            assert said[0][name] != said[1][name]
            assert len(said[0][name][0]) >= 43


async def test_a_code_that_came_back_counts_once(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        back = await window.returns(team.issuer.member("ada"))
        cookie = window.client.cookies[BROWSER]
        assert (await window.client.get(back)).status_code == 303
        again = team.window()
        again.client.cookies.set(BROWSER, cookie)
        assert (await again.client.get(back)).status_code == 403
        assert not await again.inside()


async def test_who_is_led_to_somebody_elses_sign_in_is_not_signed_in_by_it(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        back = await team.window().returns(team.issuer.member("eve"))
        victim = team.window()
        await victim.get("sign-in")
        answer = await victim.client.get(back)
        assert answer.status_code == 403
        assert "came to nothing" in answer.text
        assert VISIT not in given_cookies(answer)
        assert not await victim.inside()


async def test_a_code_of_another_sign_in_is_refused(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        mine, theirs = team.window(), team.window()
        own = urlsplit(await mine.returns(team.issuer.member("ada")))
        stolen = parse_qs(urlsplit(await theirs.returns(team.issuer.member("grace"))).query)["code"][0]
        said = {**{name: values[0] for name, values in parse_qs(own.query).items()}, "code": stolen}
        assert (await mine.get(f"callback?{urlencode(said)}")).status_code == 403
        assert not await mine.inside()


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "made-up"},
        {"state": None},
        {"code": "made-up"},
        {"code": None},
        {"code": "x" * 5000},
        {"iss": "https://elsewhere.example.org"},
        {"iss": None},
        {"error": "access_denied"},
        {"error": "<b>made up</b>", "error_description": "call <b>this number</b>"},
    ],
    ids=str,
)
async def test_an_answer_that_was_changed_on_its_way_signs_nobody_in(changed: dict[str, str | None], tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        said = parse_qs(urlsplit(await window.returns(team.issuer.member("ada"))).query)
        whole = {**{name: values[0] for name, values in said.items()}, **changed}
        answer = await window.get(f"callback?{urlencode({name: value for name, value in whole.items() if value is not None})}")
        assert answer.status_code == 403
        assert "made up" not in answer.text
        assert "this number" not in answer.text
        assert not await window.inside()
        if "state" not in changed:
            good = urlencode({name: values[0] for name, values in said.items()})
            assert (await window.get(f"callback?{good}")).status_code == 403, "it was good once"


async def test_a_parameter_that_comes_twice_counts_as_none(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        back = await window.returns(team.issuer.member("ada"))
        assert (await window.client.get(f"{back}&state=other")).status_code == 403


async def test_who_says_no_at_the_issuer_reads_so(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        state = parse_qs(urlsplit(await window.sent_away()).query)["state"][0]
        answer = await window.get(f"callback?{urlencode({'error': 'access_denied', 'state': state, 'iss': team.issuer.url})}")
        assert answer.status_code == 403
        assert "did not let you in, or you said no there" in answer.text


async def test_a_sign_in_that_takes_too_long_is_over(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        back = await window.returns(team.issuer.member("ada"))
        team.wall[0] += ATTEMPT_SECONDS + 1
        assert (await window.client.get(back)).status_code == 403


async def test_an_issuer_that_is_away_is_told_of_in_words_and_not_hammered(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        team.issuer.broken = True
        window = team.window()
        for _ in range(5):
            answer = await window.get("sign-in/start")
            assert answer.status_code == 503
            assert "cannot be reached at the moment" in answer.text
        asked = len(team.issuer.asked)
        assert asked <= 3
        team.issuer.broken = False
        team.steady[0] += PAUSE
        assert (await window.get("sign-in/start")).status_code == 303


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://elsewhere.example.org"},
        {"authorization_endpoint": "http://elsewhere.example.org/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "http://elsewhere.example.org/token"},
        {"token_endpoint": None},
    ],
    ids=str,
)
async def test_metadata_that_leads_astray_is_not_believed(metadata: dict[str, Any], tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        team.issuer.metadata = metadata
        assert (await team.window().get("sign-in/start")).status_code == 503


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example/",
        "/console//evil.example",
        "/console/../mcp",
        "/console\\evil.example",
        "/mcp",
        "/console/sign-in/start",
        "/console/callback?code=x",
        "/consolex/",
        "javascript:alert(1)",
        "/console/\r\nx: y",
    ],
)
async def test_nobody_is_led_out_of_the_console(wanted: str, tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        back = await walked(
            (await window.get(f"sign-in/start?{urlencode({'next': wanted})}")).headers["location"], team.issuer.member("ada")
        )
        assert (await window.client.get(back)).headers["location"] == "/console/"
        by_key = team.window()
        answer = await by_key.enter_by(await team.key("robot"), next=wanted)
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/")


async def test_somebody_without_any_part_in_the_gateway_is_not_let_in(tmp_path: Path) -> None:
    async with teamed(tmp_path, roles={"member": [{"claims": {"groups": "staff"}}], "auditor": [{"subject": "carol"}]}) as team:
        for name, claims, inside in (("ada", {"groups": ["staff"]}, True), ("eve", {"groups": ["guests"]}, False), ("carol", {}, True)):
            window = team.window()
            answer = await window.client.get(await window.returns(team.issuer.member(name, **claims)))
            assert answer.status_code == (303 if inside else 403)
            assert await window.inside() is inside


# ---- with an API key ----------------------------------------------------------------------------


async def test_a_machines_key_opens_what_is_the_machines(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        key = await team.key("nightly-build")
        answer = await window.enter_by(key, "%2Fconsole%2Frulings")
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/rulings")
        page = await window.get("rulings")
        assert "the machine nightly-build" in words_of(page.text)
        assert key not in page.text


async def test_without_an_issuer_only_keys_are_asked_for(tmp_path: Path) -> None:
    async with teamed(tmp_path, issuers=[], console={}) as team:
        window = team.window()
        page = await window.get()
        assert "Sign in at" not in page.text
        assert (await window.get("sign-in/start")).status_code == 404
        assert (await window.get("callback?code=x&state=y")).status_code == 404
        assert (await window.enter_by(await team.key("robot"))).status_code == 303


async def test_a_key_that_does_not_count_is_refused_in_one_wording_and_not_tried_without_end(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        good, revoked = await team.key("robot"), await team.key("old")
        await team.store.revoke_api_key((await team.store.api_keys())[1].id, now=team.wall[0])
        said = set[str]()
        window = team.window()
        for key in ("", "made-up", revoked, good[:-1], "x" * 3000, *["remit_key_" + "a" * 59] * MOST_TRIES, good):
            answer = await window.enter_by(key)
            assert answer.status_code == 403
            assert key == "" or key not in answer.text
            said.add(answer.text)
        assert len(said) == 1
        team.wall[0] += TRIES_SECONDS + 1
        assert (await window.enter_by(good)).status_code == 303


async def test_a_visit_ends_with_its_key(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        await window.enter_by(await team.key("robot"))
        assert await window.inside()
        await team.store.revoke_api_key((await team.store.api_keys())[0].id, now=team.wall[0])
        assert not await window.inside()


async def test_a_page_elsewhere_signs_nobody_in_with_a_key_of_its_own(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        key, window, attacker = await team.key("eves"), team.window(), team.window()
        fields = hidden_in((await attacker.get("sign-in")).text)
        own = hidden_in((await window.get("sign-in")).text)
        for sent, headers in (
            (own, {"origin": "https://evil.example"}),
            (own, {"origin": "null"}),
            (own, {"sec-fetch-site": "cross-site"}),
            (own, {"content-type": "text/plain"}),
            (fields, {}),
            ({**own, "key": "made-up"}, {}),
            ({}, {}),
        ):
            answer = await window.post("sign-in", {**sent, "api_key": key}, **headers)
            assert answer.status_code == 403
            assert not await window.inside()
        no_origin = await window.client.post(f"{team.url}/sign-in", data={**own, "api_key": key})
        assert no_origin.status_code == 403
        assert (await window.post("sign-in", {**own, "api_key": key})).status_code == 303


# ---- visits -------------------------------------------------------------------------------------


async def test_the_cookies_are_out_of_reach_of_scripts_and_of_other_sites(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = team.window()
        page = await window.get("sign-in")
        answer = await window.client.get(await window.returns(team.issuer.member("ada")))
        for cookie in (given_cookies(page)[BROWSER], given_cookies(answer)[VISIT]):
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie
            assert "Path=/" in cookie
            assert "Domain" not in cookie
        assert BROWSER not in window.client.cookies


async def test_over_tls_they_are_cookies_that_no_other_host_can_have_set(tmp_path: Path) -> None:
    async with teamed(tmp_path, url="https://remit.example.org/mcp") as team:
        page = await team.window().get("sign-in", host="remit.example.org")
        assert page.status_code == 200
        (cookie,) = given_cookies(page).values()
        assert cookie.startswith("__Host-remit_sign_in=")
        assert "; Secure" in cookie
        assert (await team.window().get("sign-in")).status_code == 421
        hidden, headers = hidden_in(page.text), {"host": "remit.example.org", "cookie": cookie.partition(";")[0]}
        sent = {**hidden, "api_key": await team.key("robot")}
        for origin, status in (("https://remit.example.org", 303), ("http://remit.example.org", 403), (team.origin, 403)):
            answer = await team.window().post("sign-in", sent, **headers, origin=origin)
            assert answer.status_code == status
            if status == 303:
                visit = given_cookies(answer)["__Host-remit_console"]
                assert "; Secure" in visit
                assert "HttpOnly" in visit


async def test_a_cookie_that_somebody_planted_is_not_taken_over(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        planted = await team.window_of("eve")
        known = planted.client.cookies[VISIT]
        for value in (known, "made-up"):
            window = team.window()
            window.client.cookies.set(VISIT, value, domain="127.0.0.1", path="/")
            answer = await window.client.get(await window.returns(team.issuer.member("ada")))
            assert VISIT in given_cookies(answer)
            assert value not in given_cookies(answer)[VISIT]
        assert not await planted.inside(), "what the browser had before ends with the sign-in"


async def test_a_visit_ends_after_an_hour_of_silence_and_after_a_day_of_work_in_any_case(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        quiet, busy = await team.window_of("ada"), await team.window_of("grace")
        team.wall[0] += SILENT_SECONDS - 1
        assert await busy.inside()
        team.wall[0] += 2
        assert not await quiet.inside()
        assert await busy.inside()
        for _ in range(int(LONGEST_SECONDS // (SILENT_SECONDS - 1))):
            assert await busy.inside()
            team.wall[0] += SILENT_SECONDS - 1
        assert not await busy.inside()


async def test_neither_a_stream_nor_what_a_script_loads_because_of_it_keeps_a_visit_alive(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = await team.window_of("ada")
        async with window.client.stream("GET", f"{team.url}/events") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "event: prompts"
            team.wall[0] += SILENT_SECONDS - 1
            assert (await window.get("sessions", **{"sec-fetch-mode": "cors"})).status_code == 200
            team.wall[0] += 2
            async for _ in lines:
                pass
        assert not await window.inside()


async def test_signing_out_ends_the_visit_and_only_its_own(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        one, other = await team.window_of("ada"), await team.window_of("ada")
        cookie = one.client.cookies[VISIT]
        assert (await one.post("sign-out", {"key": "made-up"})).status_code == 403
        assert (await one.post("sign-out", {"key": await one.form_key()}, origin="https://evil.example")).status_code == 403
        assert await one.inside()
        answer = await one.leave()
        assert answer.status_code == 200
        assert "You have signed out" in answer.text
        one.client.cookies.set(VISIT, cookie, domain="127.0.0.1", path="/")
        assert not await one.inside()
        assert await other.inside()


async def test_every_answer_forbids_frames_stores_and_scripts_of_others(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        inside, outside = await team.window_of("ada"), team.window()
        pages = ("", "sessions", "sign-in", "callback", "nowhere", "static/console.css", "static/nothing", "events/x")
        answers = [await one.get(page) for one in (inside, outside) for page in pages]
        answers += [await outside.post("sign-out", {}), await outside.post("prompts/prm_x", {}), await outside.client.put(f"{team.url}/")]
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "same-origin"


async def test_the_address_without_its_slash_leads_to_the_console_by_a_path_alone(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        answer = await team.window().client.get(team.url)
        assert (answer.status_code, answer.headers["location"]) == (308, "/console/")


# ---- bounds -------------------------------------------------------------------------------------


def test_a_flood_of_sign_ins_is_bounded_and_does_not_drive_out_those_of_other_addresses() -> None:
    attempts = Attempts(clock=lambda: 0.0)
    mine = attempts.begin(browser="b", back="/", address="10.0.0.1")
    flood = [attempts.begin(browser="b", back="/", address="10.0.0.2") for _ in range(MOST_FROM_ONE + 50)]
    assert attempts.take(flood[0].state, browser="b") is None
    assert attempts.take(flood[-1].state, browser="b") is not None
    assert attempts.take(mine.state, browser="b") == mine
    for number in range(MOST_ATTEMPTS + 10):
        attempts.begin(browser="b", back="/", address=str(number))
    assert attempts.take(flood[-2].state, browser="b") is None


async def test_too_many_streams_of_one_browser_are_refused(tmp_path: Path) -> None:
    async with teamed(tmp_path) as team:
        window = await team.window_of("ada")
        assert await _streams(window, 20) == 429
        assert await window.inside()


async def _streams(window: Window, count: int) -> int:
    """What one more is answered while so many are open."""
    async with window.client.stream("GET", f"{window.team.url}/events") as stream:
        assert stream.status_code == 200
        lines = stream.aiter_lines()
        assert await anext(lines) == "event: prompts"
        return await _streams(window, count - 1) if count > 1 else (await window.get("events")).status_code
