// The service worker: shows each push, and opens the stream when it is clicked.
//
// A push is JSON in the form of Declarative Web Push,
//   {"web_push": 8030, "notification": {"title", "body", "navigate", "tag", "data", ...}}
// or the same without "web_push". Browsers that know the form may show the former by themselves,
// without this worker.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => event.waitUntil(show(event.data)));

// A browser withdraws the subscription of a site that gets pushes and shows nothing, so what cannot
// be read is shown, too.
async function show(data) {
  let message = {};
  try {
    message = data.json() ?? {};
  } catch {
    // No message, or no JSON.
  }
  const { title, navigate, ...options } = message.notification ?? {};
  // A click gets back the notification's data, and nothing else of the message.
  options.data = { navigate, actions: options.actions ?? [], own: options.data };
  // Only what replaces another may tell so.
  if (!options.tag) delete options.renotify;
  if (Number.isInteger(message.app_badge)) await self.navigator.setAppBadge?.(message.app_badge);
  const text = typeof title === "string" && title !== "" ? title : "There is something new";
  try {
    await self.registration.showNotification(text, options);
  } catch {
    await self.registration.showNotification(text, { data: options.data });
  }
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data ?? {}, event.action));
});

async function open({ navigate, actions = [] }, chosen) {
  const action = actions.find((action) => action.action === chosen);
  const url = new URL(action?.navigate ?? navigate ?? "/", self.location.origin).href;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const shown = windows.find((client) => client.url === url);
  return shown ? shown.focus() : self.clients.openWindow(url);
}

// The browser replaces the subscription by itself, or has lost it: then this worker makes another.
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(replace(event)));

async function replace({ oldSubscription, newSubscription }) {
  const subscription = newSubscription ?? await subscribe(oldSubscription);
  await post("/subscribe", subscription);
  if (oldSubscription && oldSubscription.endpoint !== subscription.endpoint) {
    await post("/unsubscribe", { endpoint: oldSubscription.endpoint });
  }
}

async function subscribe(oldSubscription) {
  const key = oldSubscription?.options.applicationServerKey
    ?? (await (await fetch("/vapid")).json()).publicKey;
  return self.registration.pushManager.subscribe(
    { userVisibleOnly: true, applicationServerKey: key });
}

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
}
