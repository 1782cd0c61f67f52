"""What a person does with the page, and what must be seen then. Each function whose name begins
with `the_` is a check, with a browser and a mock server of its own."""

import re

from playwright.sync_api import expect as wait_for

import mock_data as data
from views import Watch, check_accessible, expect, settle

COUNT = re.compile(r"([\d,]+) of")


def opened(browser, mock, hash_="#/fanouts", key="ffk_admin", width=1280):
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    if key:
        page.add_init_script(f"sessionStorage.setItem('fanfare-key', {key!r})")
    page.goto(f"{mock.url}/{hash_}")
    if key:
        settle(page)
    return page


def row(page, title):
    return page.locator("tr", has=page.get_by_role("link", name=title))


def progress(page, title):
    text = row(page, title).locator(".progress").inner_text()
    return int(COUNT.search(text).group(1).replace(",", ""))


def posts(mock):
    return [(path, body) for method, path, body in mock.requests if method == "POST"]


def confirm(page, reason="wrong title", switches=True):
    dialog = page.locator("dialog")
    dialog.get_by_label("Reason").fill(reason)
    if switches:
        dialog.get_by_label("Switch on operate mode").check()
    return dialog


def the_running_fan_out_moves(browser, mock):
    page = opened(browser, mock)
    watch = Watch(page, mock.url)
    title = "Finals night"
    row(page, title).evaluate("(element) => { element.isTheSame = true; }")
    button = row(page, title).get_by_role("button", name="Pause")
    button.focus()
    seen = [progress(page, title)]
    for _ in range(3):
        page.wait_for_function(
            "([title, seen]) => [...document.querySelectorAll('tr')].some((each) => "
            "each.innerText.includes(title) && !each.innerText.includes(seen))",
            arg=[title, f"{seen[-1]:,}"], timeout=2_500)
        seen.append(progress(page, title))
    expect(seen == sorted(set(seen)), f"the count goes {seen}")
    expect(row(page, title).evaluate("(element) => element.isTheSame"), "the row was made again")
    expect(button.evaluate("(element) => element === document.activeElement"),
           "the button has lost its focus")
    mock.find("live-8f2c")["accepted"] = 1_180_000
    wait_for(row(page, title).locator(".chip")).to_have_text("done", timeout=5_000)
    ended = mock.find("live-8f2c")
    expect(progress(page, title) == ended["accepted"],
           f"the page says {progress(page, title)}, the server {ended['accepted']}")
    watch.check()


def the_pause_needs_a_reason_and_operate_mode(browser, mock):
    page = opened(browser, mock, width=380)
    title = "Finals night"
    button = row(page, title).get_by_role("button", name="Pause")
    button.click()
    dialog = page.locator("dialog")
    check_accessible(page, "the confirmation")
    page.keyboard.press("Escape")
    wait_for(dialog).not_to_be_visible()
    expect(button.evaluate("(element) => element === document.activeElement"),
           "the focus did not come back")
    button.click()
    dialog.get_by_role("button", name="Pause it").click()
    dialog.get_by_label("Reason").fill("wrong title")
    dialog.get_by_role("button", name="Pause it").click()
    expect(posts(mock) == [], "it acts without operate mode")
    confirm(page).get_by_role("button", name="Pause it").click()
    wait_for(dialog).not_to_be_visible()
    expect(posts(mock) == [("/v1/fanouts/live-8f2c/pause", {"reason": "wrong title"})],
           f"it sent {posts(mock)}")
    wait_for(row(page, title).locator(".chip")).to_have_text("paused")
    wait_for(row(page, title)).to_contain_text("wrong title")
    wait_for(page.locator("#said")).to_contain_text("is paused")
    stopped = progress(page, title)
    page.wait_for_timeout(2_200)
    expect(progress(page, title) == stopped, "it goes on")
    row(page, title).get_by_role("button", name="Resume").click()
    confirm(page, switches=False).get_by_role("button", name="Resume it").click()
    wait_for(row(page, title).locator(".chip")).to_have_text("running")


def the_operate_mode_ends_by_itself(browser, mock):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("sessionStorage.setItem('fanfare-key', 'ffk_admin')")
    page.clock.install()
    page.goto(mock.url + "/")
    page.get_by_role("button", name="Operate").click()
    wait_for(page.get_by_role("button", name="Operate: off in")).to_be_visible()
    page.clock.fast_forward("09:50")
    wait_for(page.get_by_role("button", name="Operate: off in")).to_be_visible()
    page.clock.fast_forward("00:15")
    wait_for(page.get_by_role("button", name="Operate", exact=True)).to_be_visible()
    wait_for(page.locator("#said")).to_have_text("Operate mode is off.")


def the_key_is_asked_for_and_stays_in_the_tab(browser, mock):
    page = opened(browser, mock, key="")
    dialog = page.locator("dialog")
    wait_for(dialog).to_be_visible()
    check_accessible(page, "the question for a key")
    expect(not any(path.startswith("/v1/") for _, path, _ in mock.requests),
           "it asks without a key")
    dialog.get_by_label("Key").fill("ffk_wrong")
    dialog.get_by_role("button", name="Use this key").click()
    wait_for(dialog).to_contain_text("does not know this key")
    dialog.get_by_label("Key").fill("ffk_read")
    dialog.get_by_role("button", name="Use this key").click()
    wait_for(page.get_by_role("link", name="Finals night")).to_be_visible()
    kept = page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
    expect("ffk_" not in "".join(kept), f"the key is kept in {kept}")
    row(page, "Finals night").get_by_role("button", name="Cancel").click()
    confirm(page).get_by_role("button", name="Cancel it").click()
    wait_for(dialog).to_contain_text("This key may not do that")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Key", exact=True).click()
    dialog.get_by_role("button", name="Forget the key").click()
    expect(page.evaluate("sessionStorage.length") == 0, "the key is not forgotten")


def the_page_connects_again(browser, mock):
    page = opened(browser, mock)
    age = page.locator(".age")
    for says_gone in (True, False):
        mock.stop(says_gone)
        wait_for(age).to_contain_text("not connected", timeout=20_000)
        wait_for(page.locator("body")).to_have_class("stale")
        expect(page.get_by_role("link", name="Finals night").is_visible(), "the data is gone")
        mock.version = "1.0.1"
        mock.start()
        wait_for(page.locator("body")).to_have_class("live", timeout=20_000)
        wait_for(page.locator("#said")).to_have_text("Connected again.")
    wait_for(page.locator("#notices")).to_contain_text("It is version 1.0.1 now.")
    expect(mock.streams <= 2, f"{mock.streams} streams are open")


def the_stale_data_is_grey_and_says_why(browser, mock):
    page = opened(browser, mock)
    wait_for(page.locator("body")).to_have_class("live")
    mock.trouble = "Redis does not answer: the connection timed out"
    wait_for(page.locator("#notices")).to_contain_text("Redis does not answer")
    wait_for(page.locator("body")).to_have_class("stale")
    wait_for(page.locator(".age")).to_have_text(re.compile(r"data [3-9]\ss old"), timeout=9_000)
    check_accessible(page, "the stale page")
    mock.trouble = None
    wait_for(page.locator("body")).to_have_class("live")


def the_hidden_page_asks_nothing(browser, mock):
    page = opened(browser, mock)
    wait_for(page.locator("body")).to_have_class("live")

    def show(state):
        page.evaluate(
            "(state) => { Object.defineProperty(document, 'visibilityState', "
            "{value: state, configurable: true}); "
            "document.dispatchEvent(new Event('visibilitychange')); }", state)
    expect(mock.streams == 2, f"{mock.streams} streams are open")
    show("hidden")
    # A server notices when it writes next: with the next state, or its sign of life.
    for _ in range(80):
        if mock.streams == 0:
            break
        page.wait_for_timeout(100)
    expect(mock.streams == 0, f"{mock.streams} streams are open while it is hidden")
    asked = len(mock.requests)
    page.wait_for_timeout(2_500)
    expect(len(mock.requests) == asked, f"it asks {mock.requests[asked:]}")
    show("visible")
    wait_for(page.locator("body")).to_have_class("live")
    expect(mock.streams == 2, f"{mock.streams} streams are open")


def the_thousand_finished_are_quick(browser, mock):
    mock.fan_outs += [data.fan_out(f"past-{number:04}", f"Stream {number}")
                      for number in range(1_000)]
    page = opened(browser, mock)
    watch = Watch(page, mock.url)
    page.get_by_role("button", name="Load up to 1,000").click()
    page.wait_for_function("() => document.querySelectorAll('tbody tr').length === 1000")
    page.evaluate(
        "() => { window.longest = 0; new PerformanceObserver((list) => list.getEntries().forEach("
        "(each) => { window.longest = Math.max(window.longest, each.duration); }))"
        ".observe({entryTypes: ['longtask']}); }")
    page.wait_for_timeout(4_000)
    longest = page.evaluate("window.longest")
    expect(longest < 400, f"an update takes {longest:.0f} ms")
    page.get_by_label("Filter").fill("past-0042")
    wait_for(page.locator("output")).to_have_text("1 of 1,000 fan-outs")
    expect(page.locator("a[data-row]").count() == 1, "more than one row is left")
    watch.check()


def the_rows_stay_under_a_hand(browser, mock):
    page = opened(browser, mock)
    links = page.locator("section a[data-row]")
    first = links.nth(0).inner_text()
    links.nth(1).hover()
    with mock.lock:
        mock.fan_outs.insert(0, mock.fan_outs.pop(1))
    page.wait_for_timeout(1_800)
    expect(links.nth(0).inner_text() == first, "the row moved under the pointer")
    wait_for(links.nth(0)).not_to_have_text(first, timeout=9_000)


def the_unknown_numbers_are_dashes(browser, mock):
    mock.fan_outs = [{name: None for name in data.fan_out("x", "")}
                     | {"event": f"live-{state}", "state": state}
                     for state in ("running", "scheduled", "done", "incomplete")]
    page = opened(browser, mock)
    for hash_ in ("#/fanouts", "#/health"):
        page.goto(f"{mock.url}/{hash_}")
        settle(page)
        text = page.inner_text("main")
        expect(not re.search(r"NaN|undefined|null", text), f"{hash_} shows {text}")
    page.goto(f"{mock.url}/#/fanouts")
    wait_for(row(page, "live-running")).to_contain_text("– no push yet")


def the_texts_of_others_are_texts(browser, mock):
    mock.find("live-done")["title"] = "<img src=x onerror=alert(1)>"
    page = opened(browser, mock)
    watch = Watch(page, mock.url)
    wait_for(page.get_by_role("link", name="<img src=x")).to_be_visible()
    expect(page.locator("main img").count() == 0, "a title became an element")
    watch.check()


def the_objects_of_others_are_texts(browser, mock):
    mock.find("live-done")["title"] = {
        "tag": "img", "key": None, "attributes": {"src": "x", "alt": "made"}, "children": []}
    page = opened(browser, mock)
    watch = Watch(page, mock.url)
    wait_for(page.get_by_role("link", name='{"tag":"img"')).to_be_visible()
    expect(page.locator("main img").count() == 0, "an object became an element")
    watch.check()


def the_user_has_no_token(browser, mock):
    page = opened(browser, mock, "#/user")
    page.get_by_label("User").fill("u/1 ü")
    page.get_by_label("Event").fill("live-8f2c")
    page.get_by_role("button", name="Look up").click()
    wait_for(page.locator("main")).to_contain_text("the app is no longer on this device")
    wait_for(page.locator("main")).to_contain_text("Europe/Berlin")
    wait_for(page.locator("main")).to_contain_text("Hallo Ada")
    expect(("GET", "/v1/users/u%2F1%20%C3%BC", None) in mock.requests, "the id is not escaped")
    html = page.content()
    expect(data.TOKEN[:8] not in html, "a token is in the page")
    page.get_by_label("User").fill("nobody")
    page.get_by_label("Event").fill("")
    page.get_by_role("button", name="Look up").click()
    wait_for(page.locator("main")).to_contain_text("Unknown user")


def the_dead_letters_are_replayed_by_filter(browser, mock):
    page = opened(browser, mock, "#/letters")
    wait_for(page.locator("main")).to_contain_text("No button acts on all of them")
    expect(page.get_by_role("button", name="Replay").count() == 0, "all can be replayed")
    page.get_by_label("Code").fill("wrong_type")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("button", name="Replay 1,204 of code wrong_type").click()
    dialog = page.locator("dialog")
    wait_for(dialog).to_contain_text("Already replayed or dropped")
    check_accessible(page, "the dry run")
    dialog = confirm(page)
    dialog.get_by_label("Type the number").fill("1203")
    dialog.get_by_role("button", name="Replay 1,204").click()
    wait_for(dialog).to_contain_text("The number is 1,204")
    dialog.get_by_label("Type the number").fill("1,204")
    dialog.get_by_role("button", name="Replay 1,204").click()
    wait_for(dialog).to_contain_text("1,156 replayed, 48 skipped: 48 already done.")
    chosen = {"filter": {"code": "wrong_type"}, "expected": 1_204}
    expect(posts(mock) == [
        ("/v1/dead-letters/replay", {**chosen, "dry_run": True}),
        ("/v1/dead-letters/replay", {**chosen, "reason": "wrong title", "dry_run": False})],
        f"it sent {posts(mock)}")


def the_dead_letter_is_corrected(browser, mock):
    page = opened(browser, mock, "#/letters/1:1")
    page.get_by_role("button", name="Correct a copy").click()
    area = page.get_by_label("Value of the copy")
    area.fill(area.input_value().replace('"id": 7', '"id": "s7"'))
    wait_for(page.locator("main .diff")).to_contain_text('+     "id": "s7"')
    page.get_by_role("button", name="Send the copy").click()
    check_accessible(page, "the corrected copy")
    dialog = confirm(page, "id is a string")
    dialog.get_by_role("button", name="Send the copy").click()
    wait_for(dialog).to_contain_text("1 replayed")
    path, body = posts(mock)[-1]
    expect(body["letters"] == ["1:1"] and '"s7"' in body["value"], f"it sent {body}")


def the_keyboard_is_enough(browser, mock):
    page = opened(browser, mock)
    for number, title in (("2", "One user"), ("3", "Dead letters"), ("4", "Health"),
                          ("5", "Templates"), ("1", "Fan-outs")):
        page.keyboard.press(number)
        wait_for(page.locator("h1")).to_have_text(title)
    settle(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.evaluate("document.activeElement.matches('[data-row]')"), "j leads to no row")
    page.keyboard.press("Enter")
    wait_for(page.locator("h1")).to_have_text("Speedrun marathon, last hour")
    page.keyboard.press("h")
    wait_for(page.locator(".age")).to_have_text(re.compile(r"held at .*, [1-9]\d* updates since"))
    page.keyboard.press("h")
    page.keyboard.press("1")
    wait_for(page.locator("h1")).to_have_text("Fan-outs")
    settle(page)
    page.keyboard.press("/")
    wait_for(page.get_by_label("Filter")).to_be_focused()
    page.keyboard.type("charity 1")
    wait_for(page.get_by_label("Filter")).to_have_value("charity 1")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+?")
    wait_for(page.locator("dialog")).not_to_be_visible()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Shift+?")
    wait_for(page.locator("dialog")).to_be_visible()
    check_accessible(page, "the list of keys")
    page.get_by_label("Single keys work").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("4")
    page.wait_for_timeout(300)
    expect(page.inner_text("h1") == "Fan-outs", "single keys still work")


def the_read_only_dashboard_has_no_acts(browser, mock):
    mock.mode = "dashboard"
    mock.needs_key = False
    page = opened(browser, mock, key="")
    wait_for(page.get_by_role("link", name="Finals night")).to_be_visible()
    names = page.get_by_role("button").all_inner_texts()
    expect(names == ["Hold", "Keys ?"], f"there are the buttons {names}")
    page.keyboard.press("o")
    for number, text in (("3", "in Kafka"), ("5", "reads Redis alone")):
        page.keyboard.press(number)
        wait_for(page.locator("main")).to_contain_text(text)
    expect(posts(mock) == [], "it acts")


def the_alerts_stand_above_every_view(browser, mock):
    page = opened(browser, mock, "#/user")
    mock.alerts = [{"what": "Redis is out of memory", "since_ms": data.now_ms(),
                    "runbook": "docs/operations.md#faults-of-redis"}]
    wait_for(page.get_by_label("Alerts")).to_contain_text("Redis is out of memory")
    wait_for(page.get_by_label("Alerts")).to_contain_text("docs/operations.md#faults-of-redis")
    wait_for(page.locator("#said")).to_contain_text("New alert: Redis is out of memory")
    expect(page.title().startswith("(1) "), page.title())


def the_obstacles_have_their_share_of_time(browser, mock):
    page = opened(browser, mock, "#/health")
    shares = page.get_by_role("table", name="Share of time")
    wait_for(shares.get_by_role("row", name="production: credentials")).to_contain_text("83 %")
    wait_for(page.locator("main")).to_contain_text("Share of the last 60 s watched")


def the_event_that_nobody_knows_is_said(browser, mock):
    page = opened(browser, mock, "#/fanouts/live-none")
    wait_for(page.locator("main")).to_contain_text("Redis knows no fan-out of this event")


def the_template_is_made_for_one_user(browser, mock):
    page = opened(browser, mock, "#/templates")
    page.get_by_label("For user").fill("u1")
    page.get_by_role("button", name="Show").click()
    wait_for(page.locator("main")).to_contain_text("Hallo Ada")
    wait_for(page.locator(".age")).to_have_text(re.compile(r"read [1-9]\ss ago"))
    page.get_by_label("Template").select_option("raid")
    wait_for(page.get_by_role("heading", name="stream-live")).not_to_be_visible()


def the_mistake_of_an_event_is_none_of_a_template(browser, mock):
    page = opened(browser, mock)
    now = data.now_ms()
    page.route("**/v1/live/templates?*", lambda route: route.fulfill(json={
        "now_ms": now, "as_of_ms": now, "trouble": None, "templates": [
            {"name": "live", "locales": [], "trouble": "the event cannot be read as it is kept"},
            {"name": "raid", "locales": [], "trouble": "/t/raid.yaml:7:3: no such field"}]}))
    page.evaluate("location.hash = '#/templates?event=odd'")
    section = page.locator("main section")
    broken = section.filter(has=page.get_by_role("heading", name="raid"))
    wait_for(broken).to_contain_text("Correct this line")
    other = section.filter(has=page.get_by_role("heading", name="live"))
    wait_for(other).to_contain_text("the event cannot be read")
    wait_for(other).not_to_contain_text("Correct this line")


def the_texts_that_differ_are_not_merged(browser, mock):
    page = opened(browser, mock)
    now = data.now_ms()
    size = {"locale": "en", "bytes": 300, "limit": 4096}
    page.route("**/v1/live/templates?*", lambda route: route.fulfill(json={
        "now_ms": now, "as_of_ms": now, "trouble": None, "templates": [
            {"name": "live", "trouble": None, "locales": [
                {**size, "platform": "apns", "title": "Live", "body": "now\nor later"},
                {**size, "platform": "fcm", "title": "Live\nnow", "body": "or later"}]}]}))
    page.evaluate("location.hash = '#/templates?event=odd'")
    wait_for(page.locator("figure")).to_have_count(2)


def the_text_that_platforms_share_is_shown_once(browser, mock):
    page = opened(browser, mock, "#/templates?template=stream-live")
    figures = page.locator("figure")
    wait_for(figures).to_have_count(4)
    wait_for(figures.first).to_contain_text("English en Apple, Android, Browser")
    wait_for(figures.first).to_contain_text("Browser: 312 of 3,993 bytes")


def the_link_brings_the_key(browser, mock):
    page = browser.new_page()
    page.goto(f"{mock.url}/#key=ffk_admin")
    wait_for(page.locator(".age.live")).to_be_visible()
    expect(page.url == f"{mock.url}/", page.url)
    # The same tab, where the page is open already and has a wrong key.
    page.evaluate("sessionStorage.setItem('fanfare-key', 'ffk_wrong')")
    page.goto(f"{mock.url}/#/health")
    page.reload()
    wait_for(page.locator("#dialog")).to_contain_text("does not know this key")
    page.evaluate("location.hash = '#key=ffk_admin'")
    wait_for(page.locator(".age.live")).to_be_visible()
    wait_for(page.locator("#dialog")).not_to_be_visible()


def the_same_template_is_read_again(browser, mock):
    page = opened(browser, mock, "#/templates?user=u1")
    wait_for(page.locator("main")).to_contain_text("Hallo Ada")
    asked = len([each for each in mock.requests if "live/templates" in each[1]])
    page.get_by_role("button", name="Show").click()
    wait_for(page.locator("main")).to_contain_text("Hallo Ada")
    again = len([each for each in mock.requests if "live/templates" in each[1]])
    expect(again == asked + 1, f"{asked} requests, then {again}")


def the_straggler_has_no_token(browser, mock):
    mock.letters[0]["topic"] = "notify-followers.stragglers"
    page = opened(browser, mock, "#/letters/1:1")
    wait_for(page.locator("main")).to_contain_text("it may name devices")
    expect("occurred_at" not in page.content(), "the value is in the page")
    expect(page.get_by_role("button", name="Correct").count() == 0, "it can be corrected")
