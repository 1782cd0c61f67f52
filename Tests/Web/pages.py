"""The example's site as a process, and a tab of the browser with it."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

from chromium import Failure

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "web"
# Public keys of RFC 8291 and RFC 8292: their private halves are not needed.
VAPID_KEY = (
    "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs")
NEXT_VAPID_KEY = (
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")


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
        state = "navigator.serviceWorker?.getRegistration().then(r => r?.active?.state)"
        until("a service worker", lambda: self.run(state) == "activated")

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

    def subscription(self):
        return json.loads(self.run(
            "navigator.serviceWorker.ready.then(r => r.pushManager.getSubscription())"
            ".then(s => JSON.stringify(s))"))

    def endpoint(self):
        subscription = self.subscription()
        return subscription and subscription["endpoint"]

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

    def change_subscription(self, script):
        """Dispatches pushsubscriptionchange in the worker, and waits for what it does on it. The
        script returns the event's subscriptions. A browser refuses to extend an event of a
        script's, so the event takes the promise itself."""
        extended = self.browser.evaluate(self.worker(), f"""(async () => {{
          const subscriptions = await (async () => {{ {script} }})();
          const event = new PushSubscriptionChangeEvent("pushsubscriptionchange", subscriptions);
          const promises = [];
          event.waitUntil = (promise) => promises.push(promise);
          self.dispatchEvent(event);
          await Promise.all(promises);
          return promises.length;
        }})()""")
        expect(extended == 1, "the worker does not listen to pushsubscriptionchange")

    def tabs(self):
        return sorted(target["url"] for target in self.browser.targets("page")
                      if target["url"].startswith(self.site.url))
