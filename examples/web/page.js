// The page: asks for pushes, tells the backend about this browser, and forgets it at log-out.

const SUBSCRIBE_MILLISECONDS = 20_000;

const element = (id) => document.getElementById(id);
const say = (text) => { element("status").textContent = text; };

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (response.ok) return;
  throw Object.assign(new Error(`${path}: ${response.status}`), { status: response.status });
}

function bytes(base64url) {
  const text = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

const isSame = (one, other) => one.length === other.length && one.every((b, i) => b === other[i]);

// A subscription belongs to one VAPID key: with another key, it must be made again.
async function subscribe(registration) {
  const { publicKey } = await (await fetch("/vapid")).json();
  const key = bytes(publicKey);
  const old = await registration.pushManager.getSubscription();
  if (old) {
    if (isSame(new Uint8Array(old.options.applicationServerKey), key)) return old;
    await post("/unsubscribe", { endpoint: old.endpoint });
    await old.unsubscribe();
  }
  return inTime(
    registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
}

// Some browsers wait for their push service without end.
function inTime(promise) {
  const end = new Promise((_, reject) => setTimeout(
    () => reject(new DOMException("no answer", "AbortError")), SUBSCRIBE_MILLISECONDS));
  return Promise.race([promise, end]);
}

// Browsers replace subscriptions now and then and do not always say so. So the subscription is sent
// at each page load; sending it again does no harm.
async function sendSubscription() {
  try {
    const subscription = await subscribe(await navigator.serviceWorker.ready);
    await post("/subscribe", subscription);
    say("You are told when a stream begins.");
  } catch (error) {
    if (error.status === 401) return loggedOut();
    say(explain(error));
  }
}

function loggedOut() {
  localStorage.removeItem("user");
  update();
}

function explain(error) {
  switch (error.name) {
    // The browser's push service cannot be reached, or refuses.
    case "AbortError": return "Pushes cannot be had at the moment. Reload the page to try again.";
    case "NotAllowedError": return "The browser's settings forbid this site to notify you.";
    default: return `That did not work (${error.message}). Reload the page to try again.`;
  }
}

function update() {
  const isLoggedIn = localStorage.getItem("user") !== null;
  element("login").hidden = isLoggedIn;
  element("logout").hidden = !isLoggedIn;
  element("enable").hidden = !isLoggedIn || Notification.permission !== "default";
  if (!isLoggedIn) return say("");
  if (Notification.permission === "denied") return say(explain({ name: "NotAllowedError" }));
  if (Notification.permission === "granted") return sendSubscription();
}

element("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  await post("/login", { user: element("user").value });
  localStorage.setItem("user", element("user").value);
  update();
});

// Browsers ask for permission only in answer to a click.
element("enable").addEventListener("click", async () => {
  await Notification.requestPermission();
  update();
});

// In this order: while the user is still logged in, and before the next user of this browser.
element("logout").addEventListener("click", async () => {
  try {
    const registration = await navigator.serviceWorker.ready;
    const subscription = await registration.pushManager.getSubscription();
    if (subscription) {
      await post("/unsubscribe", { endpoint: subscription.endpoint });
      await subscription.unsubscribe();
    }
    await post("/logout", {});
    loggedOut();
  } catch (error) {
    say(explain(error));
  }
});

// On an iPhone, pushes are for sites on the Home Screen only.
if ("serviceWorker" in navigator && "PushManager" in window) {
  await navigator.serviceWorker.register("/service-worker.js");
  update();
} else {
  say("This browser has no pushes.");
}
