"""What examples/web must do, step by step, in a browser. Started by `run`."""

import base64
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import chromium
from chromium import Failure
from desktop import Desktop
from services import Fanfare, PushRegistration

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "web"
SECONDS = 120
# Public keys of RFC 8291 and RFC 8292: their private halves are not needed.
VAPID_KEY = ("BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs")
NEXT_VAPID_KEY = (
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
USER = "Ken Ōta/7"
PREFIX = f"/v1/users/{urllib.parse.quote(USER, safe='')}/devices/webpush/"


def expect(is_so, problem):
    if not is_so:
        raise Failure(problem)


def until(what, ask, seconds=15):
    """Asks again until the answer is true; returns it. A page that is just loading answers none."""
    end = time.monotonic() + seconds
    problem = ""
    while True:
        try:
            answer = ask()
            if answer:
                return answer
        except Failure as failure:
            problem = f" ({failure})"
        expect(time.monotonic() < end, f"not in {seconds} s: {what}{problem}")
        time.sleep(0.05)


class Site:
    """The example's own server, as a process."""

    def __init__(self, fanfare):
        environment = {**os.environ, "FANFARE_URL": fanfare.url, "FANFARE_KEY": "ffk_secret",
                       "VAPID_PUBLIC_KEY": VAPID_KEY, "VAPID_KEY_ID": "main", "PORT": "0"}
        self.process = subprocess.Popen(
            [sys.executable, "-B", EXAMPLE / "server.py"], env=environment, text=True,
            stdout=subprocess.PIPE)
        self.url = self.process.stdout.readline().strip()
        self.origin = self.url.rstrip("/")

    def post(self, path, kind="application/json"):
        """The status of a request without a cookie."""
        request = urllib.request.Request(
            self.url + path, data=b'{"endpoint":"https://a.example.com/x"}',
            headers={"Content-Type": kind})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status
        except urllib.error.HTTPError as error:
            return error.code

    def stop(self):
        self.process.kill()
        self.process.wait()


class Page:
    """A tab with the site."""

    def __init__(self, browser, site):
        self.browser = browser
        self.site = site
        target = browser.command("Target.createTarget", url=site.url)["targetId"]
        self.session = browser.attach(target)
        for domain in ("Runtime", "Page", "ServiceWorker"):
            browser.command(f"{domain}.enable", self.session)
        until("a service worker", lambda: self.run(
            "navigator.serviceWorker?.getRegistration().then(r => r?.active?.state)") == "activated")

    def run(self, script):
        return self.browser.evaluate(self.session, script)

    def reload(self):
        self.run("window.isOld = true")
        self.browser.command("Page.reload", self.session)
        until("a new page", lambda: self.run("!window.isOld && document.readyState === 'complete'"))

    def click(self, element):
        self.run(f"document.getElementById('{element}').click()")

    def is_shown(self, element):
        return self.run(f"!document.getElementById('{element}').hidden")

    def says(self, text):
        until(f"the page says {text!r}", lambda: text in self.run(
            "document.getElementById('status').textContent"))

    def permit(self, setting):
        self.browser.command("Browser.setPermission", origin=self.site.origin,
                             permission={"name": "notifications"}, setting=setting)

    def endpoint(self):
        return self.run("navigator.serviceWorker.ready.then(r => r.pushManager.getSubscription())"
                        ".then(s => s && s.endpoint)")

    def notifications(self):
        return self.run(
            "navigator.serviceWorker.ready.then(r => r.getNotifications()).then(all => all.map("
            "n => ({title: n.title, body: n.body, tag: n.tag, data: n.data, lang: n.lang})))")

    def push(self, data):
        """Delivers a message, already decrypted, as the browser's own tools do."""
        updates = [event["params"]["registrations"] for event in self.browser.events
                   if event["method"] == "ServiceWorker.workerRegistrationUpdated"
                   and event["params"]["registrations"]]
        self.browser.command(
            "ServiceWorker.deliverPushMessage", self.session, origin=self.site.origin,
            registrationId=updates[-1][0]["registrationId"],
            data=data if isinstance(data, str) else json.dumps(data))

    def worker(self):
        """A session of the service worker, which a push or a message has just woken."""
        found = until("a worker that runs", lambda: self.browser.targets("service_worker"))
        return self.browser.attach(found[0]["targetId"])

    def tabs(self):
        return sorted(target["url"] for target in self.browser.targets("page")
                      if target["url"].startswith(self.site.url))


class Scenario:
    def __init__(self, site, page, fanfare, registration, desktop):
        self.site = site
        self.page = page
        self.fanfare = fanfare
        self.registration = registration
        self.desktop = desktop

    def take(self, *methods):
        """What Fanfare was asked, by method and endpoint."""
        requests = self.fanfare.take(len(methods))
        for method, path, headers, body in requests:
            expect(headers.get("Authorization") == "Bearer ffk_secret", f"{path}: no key")
            expect(path.startswith(PREFIX) and "/" not in path[len(PREFIX):], f"path {path}")
            if method == "PUT":
                self.check(json.loads(body))
            else:
                expect(not body, f"{method} has a body")
        got = [(method, urllib.parse.unquote(path[len(PREFIX):]))
               for method, path, _, _ in requests]
        expect(sorted(method for method, _ in got) == sorted(methods),
               f"Fanfare was asked {got}, not {methods}")
        return dict(got)

    @staticmethod
    def check(body):
        keys = {name: len(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)))
                for name, key in body.pop("keys").items()}
        expect(keys == {"p256dh": 65, "auth": 16}, f"keys of {keys} bytes")
        expect(body == {"topic": "com.example.live", "vapid_key": "main"}, f"body {body}")

    # The steps, in their order.

    def strangers_are_refused(self):
        expect(self.site.post("subscribe") == 401, "a subscription without log-in is taken")
        expect(self.site.post("subscribe", "text/plain") == 415, "a form of another site is taken")

    def a_refused_permission_is_told(self):
        self.page.permit("denied")
        self.page.run(f"document.getElementById('user').value = {json.dumps(USER)}")
        self.page.run("document.getElementById('login').requestSubmit()")
        self.page.says("settings forbid")
        expect(not self.page.is_shown("enable"), "the button asks for what is forbidden")

    def a_push_service_that_refuses_is_told(self):
        self.registration.refuses = True
        self.page.permit("prompt")
        self.page.reload()
        until("the button", lambda: self.page.is_shown("enable"))
        self.page.permit("granted")
        self.page.click("enable")
        self.page.says("cannot be had at the moment")
        expect(self.page.endpoint() is None, "there is a subscription")
        self.registration.refuses = False

    def the_subscription_is_sent(self):
        self.page.reload()
        self.page.says("You are told")
        endpoint = self.take("PUT")["PUT"]
        expect(endpoint.startswith("https://") and endpoint == self.page.endpoint(),
               f"the endpoint {endpoint}")

    def it_is_sent_again_at_each_load(self):
        self.page.reload()
        self.page.says("You are told")
        expect(self.take("PUT")["PUT"] == self.page.endpoint(), "another endpoint")

    def another_vapid_key_makes_another_subscription(self):
        old = self.page.endpoint()
        answer = json.dumps({"publicKey": NEXT_VAPID_KEY, "id": "next"})
        script = self.page.browser.command(
            "Page.addScriptToEvaluateOnNewDocument", self.page.session,
            source="const real = window.fetch; window.fetch = (path, ...rest) => path === '/vapid'"
                   f" ? Promise.resolve(new Response('{answer}')) : real(path, ...rest);")
        self.page.reload()
        self.page.says("You are told")
        asked = self.take("DELETE", "PUT")
        expect(asked == {"DELETE": old, "PUT": self.page.endpoint()}, f"asked: {asked}")
        expect(old != self.page.endpoint(), "the subscription is the old one")
        self.page.browser.command("Page.removeScriptToEvaluateOnNewDocument", self.page.session,
                                  identifier=script["identifier"])
        # And back, as the next steps have it.
        self.page.reload()
        self.page.says("You are told")
        self.take("DELETE", "PUT")

    def a_declarative_push_is_shown(self):
        self.page.push({"web_push": 8030, "notification": {
            "title": "Aikoがライブ配信中", "body": "Speedrun", "navigate": self.site.url + "s42",
            "lang": "ja", "tag": "live-s42", "data": {"stream": {"id": "b-991"}},
            "actions": [{"action": "rules", "title": "Rules",
                         "navigate": self.site.url + "rules"}]}})
        expect(self.desktop.wait("Aikoがライブ配信中"), "the desktop shows nothing")
        shown = self.page.notifications()
        expect(len(shown) == 1, f"shown: {shown}")
        expect((shown[0]["body"], shown[0]["tag"], shown[0]["lang"])
               == ("Speedrun", "live-s42", "ja"), f"shown: {shown}")
        expect(shown[0]["data"]["own"] == {"stream": {"id": "b-991"}}, f"shown: {shown}")

    def the_same_without_its_number_replaces_it(self):
        self.page.push({"notification": {
            "title": "Aiko plays on", "navigate": self.site.url + "s42", "tag": "live-s42",
            "renotify": True, "actions": [{"action": "rules", "title": "Rules",
                                           "navigate": self.site.url + "rules"}]}})
        expect(self.desktop.wait("Aiko plays on"), "the desktop shows nothing")
        shown = [one["title"] for one in self.page.notifications()]
        expect(shown == ["Aiko plays on"], f"shown: {shown}")

    def a_click_opens_the_stream(self):
        self.desktop.click(self.desktop.wait("Aiko plays on"))
        until("a tab with the stream",
              lambda: self.page.tabs() == [self.site.url, self.site.url + "s42"])
        until("the notification is closed", lambda: self.page.notifications() == [])
        # The new tab is a page load, too.
        self.take("PUT")

    def a_click_focuses_the_open_tab(self):
        expect(self.page.run("document.visibilityState") == "hidden", "the first tab is in front")
        self.page.push({"notification": {"title": "Home", "navigate": "/"}})
        number = self.desktop.wait("Home")
        expect(number, "the desktop shows nothing")
        self.desktop.click(number)
        until("the first tab in front",
              lambda: self.page.run("document.visibilityState") == "visible")
        expect(len(self.page.tabs()) == 2, f"tabs: {self.page.tabs()}")

    def an_action_opens_its_own_page(self):
        self.page.push({"notification": {
            "title": "With a button", "navigate": self.site.url, "actions": [
                {"action": "rules", "title": "Rules", "navigate": self.site.url + "rules"}]}})
        number = self.desktop.wait("With a button")
        expect(number, "the desktop shows nothing")
        self.desktop.click(number, self.desktop.action(number, "Rules"))
        until("a tab with the rules", lambda: self.site.url + "rules" in self.page.tabs())
        self.take("PUT")

    def what_cannot_be_read_is_shown(self):
        for message in ("no JSON", "[1]", "null", '{"notification":{"title":7,"actions":[{}]}}'):
            self.page.push(message)
            number = self.desktop.wait("There is something new")
            expect(number, f"nothing is shown of {message}")
            self.desktop.click(number)
            until("it is closed", lambda: self.page.notifications() == [])

    def a_lost_subscription_is_replaced(self):
        old = self.page.endpoint()
        self.page.push({"notification": {"title": "Awake"}})
        expect(self.desktop.wait("Awake"), "the desktop shows nothing")
        # The browser's own event cannot be made: this is what the worker does on it.
        self.page.browser.evaluate(self.page.worker(), """(async () => {
          const oldSubscription = await registration.pushManager.getSubscription();
          await oldSubscription.unsubscribe();
          await replace({ oldSubscription, newSubscription: null });
        })()""")
        asked = self.take("DELETE", "PUT")
        expect(asked == {"DELETE": old, "PUT": self.page.endpoint()}, f"asked: {asked}")
        expect(old != self.page.endpoint(), "the subscription is the old one")

    def a_log_out_ends_it(self):
        endpoint = self.page.endpoint()
        self.page.click("logout")
        until("the form", lambda: self.page.is_shown("login"))
        expect(self.take("DELETE") == {"DELETE": endpoint}, "another endpoint is forgotten")
        expect(self.page.endpoint() is None, "the browser is still subscribed")
        self.page.reload()
        expect(self.page.is_shown("login") and not self.page.is_shown("logout"), "still logged in")
        self.take()

    def run(self, is_verbose):
        steps = [name for name, step in vars(Scenario).items()
                 if callable(step) and name not in ("__init__", "take", "check", "run")]
        for name in steps:
            started = time.monotonic()
            try:
                getattr(self, name)()
            except Failure as failure:
                raise Failure(f"{name}: {failure}") from None
            if is_verbose:
                print(f"{time.monotonic() - started:6.2f} s  {name}")
        return len(steps)


def main():
    # Whatever hangs: SIGALRM ends it, and the browser with it.
    def late(*_):
        raise Failure(f"it takes more than {SECONDS} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    with contextlib.ExitStack() as stack:
        def keep(thing):
            stack.callback(thing.stop)
            return thing
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            fanfare, registration = keep(Fanfare()), keep(PushRegistration())
            desktop, site = keep(Desktop()), keep(Site(fanfare))
            environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": desktop.address,
                           "HOME": profile}
            browser = keep(chromium.Browser(
                chromium.find(), profile, environment, registration.browser_flags))
            product = browser.command("Browser.getVersion", seconds=30)["product"]
            count = Scenario(site, Page(browser, site), fanfare, registration, desktop).run(
                "--verbose" in sys.argv)
        except Failure as failure:
            print(failure)
            log = pathlib.Path(profile, "browser.log")
            if log.exists():
                print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
            return 1
    print(f"{count} steps in {product}, all as they must be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
