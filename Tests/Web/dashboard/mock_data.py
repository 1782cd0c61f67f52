"""A deployment that the mock server plays: fan-outs that move with the clock, workers, letters."""

import time

PUSH_RATE = 41_000
OUTCOMES = ("accepted", "rejected", "expired", "cancelled", "suppressed")


def now_ms():
    return int(time.time() * 1000)


def fan_out(event, title, state="done", streamer="nova", expected=1_200_000, **more):
    """A fan-out that has ended a while ago, if nothing else is said."""
    started = now_ms() - 3_600_000
    fields = {
        "event": event, "streamer": streamer, "template": "stream-live", "title": title,
        "state": state, "state_why": None, "halted_by": None, "halted_at_ms": None,
        "started_ms": started, "first_push_ms": started + 420, "last_push_ms": started + 31_000,
        "ended_ms": started + 31_200, "expires_ms": started + 900_000,
        "recipients": 2 * expected // 3, "pushes": expected, "expected_pushes": expected,
        "accepted": expected * 97 // 100, "rejected": expected * 2 // 100, "expired": 0,
        "cancelled": 0, "suppressed": expected // 100, "waiting": 0, "segments": 240,
        "settled": 240, "rate": None, "seconds_left": None, "dead_lettered": 0}
    fields.update(more)
    return fields


def running(event, title, **more):
    now = now_ms()
    return fan_out(event, title, **{
        "state": "running", "started_ms": now - 20_000, "first_push_ms": now - 19_600,
        "last_push_ms": now, "ended_ms": None, "expires_ms": now + 840_000, "accepted": 812_400,
        "rejected": 9_100, "suppressed": 4_000, "settled": 165, "rate": PUSH_RATE, **more})


def first_fan_outs():
    now = now_ms()
    send_at = time.strftime("for %Y-%m-%dT%H:%M:00Z", time.gmtime(now / 1000 + 3_600))
    return [
        running("live-late", "Speedrun marathon, last hour", streamer="quickfox",
                expected=9_000_000, expires_ms=now + 120_000, accepted=900_000, segments=1800),
        running("live-8f2c", "Finals night: Nova against Orbit"),
        running("live-wait", "Morgenröte: Sonnenaufgang über den Alpen, live mit Gästen",
                streamer="alpenglühn", state="waiting", accepted=12_000, rate=0,
                waiting=388_000, expected=400_000,
                state_why="production com.example.live: InvalidProviderToken"),
        running("live-pause", "Charity stream", state="paused", rate=0, accepted=100_200,
                halted_by="alice", halted_at_ms=now - 95_000, state_why="wrong title"),
        running("live-plan", "", streamer="s-4411", state="scheduled", segments=0, settled=0,
                state_why=send_at, expires_ms=now + 7_200_000, expected_pushes=None, accepted=0,
                rejected=0, suppressed=0, rate=None, first_push_ms=None, last_push_ms=None),
        fan_out("live-done", "Morning run"),
        fan_out("live-lost", "Cook-along", state="incomplete", dead_lettered=2, accepted=990_000,
                state_why="2 segments are in the dead letters"),
        fan_out("live-old", "Late show", state="expired", accepted=0, rejected=0, suppressed=0,
                expired=1_200_000, first_push_ms=None, last_push_ms=None),
        fan_out("live-cancel", "Test stream", state="cancelled", accepted=40_000,
                cancelled=1_130_000, halted_by="bob", halted_at_ms=now_ms() - 3_580_000,
                state_why="sent to the wrong app"),
    ]


def advance(each, seconds):
    """Lets a running fan-out go on."""
    if each["state"] != "running" or each["expected_pushes"] is None:
        return
    done = sum(each[name] for name in OUTCOMES)
    step = min(int(PUSH_RATE * seconds), each["expected_pushes"] - done)
    each["accepted"] += step - step // 50
    each["rejected"] += step // 50
    each["last_push_ms"] = now_ms()
    left = each["expected_pushes"] - done - step
    each["seconds_left"] = left / PUSH_RATE
    each["settled"] = each["segments"] - each["segments"] * left // each["expected_pushes"]
    if left == 0:
        each.update(state="done", rate=None, seconds_left=None, ended_ms=now_ms())


def detail(each):
    now = now_ms()
    followers = each["recipients"] + 90_000
    sent = sum(each[name] for name in OUTCOMES)
    return {
        **each,
        "funnel": [
            {"name": "followers", "count": followers},
            {"name": "after rules", "count": followers - 31_000, "lost": [
                {"why": "muted the streamer", "count": 21_000},
                {"why": "quiet hours", "count": 10_000}]},
            {"name": "devices", "count": each["expected_pushes"], "lost": [
                {"why": "users without a device", "count": 59_000}]},
            {"name": "rendered", "count": sent, "lost": []},
            {"name": "sent", "count": sent - each["suppressed"], "lost": [
                {"why": "kept back by a rule", "count": each["suppressed"]}]},
            {"name": "accepted", "count": each["accepted"], "lost": [
                {"why": "rejected", "count": each["rejected"]}]}],
        "outcomes": [
            {"platform": "apns", "outcome": "accepted", "reason": "",
             "count": each["accepted"], "advice": ""},
            {"platform": "apns", "outcome": "rejected", "reason": "Unregistered",
             "count": each["rejected"], "advice": "Nothing: the app was removed, and the token "
             "is removed too."},
            {"platform": "fcm", "outcome": "suppressed", "reason": "quiet",
             "count": each["suppressed"], "advice": "Nothing: these users have quiet hours."}],
        "slowest_segments": [
            {"segment": f"{each['event']}:0:{index}", "worker": f"worker-{index % 3}",
             "since_ms": now - 9_000 + 700 * index, "claim_ends_ms": now + 21_000}
            for index in range(5)],
        "document": {
            "id": each["event"], "app": "com.example.live",
            "streamer": {"id": each["streamer"], "name": "Nova <b>&amp;</b>"},
            "stream": {"id": "st-1", "title": each["title"]},
            "occurred_at": "2026-11-28T20:00:00Z"},
        "texts": texts(each["title"])}


def texts(title):
    """As the server has them: one of each platform, which may all say the same."""
    return [{**each, "platform": platform, "limit": limit}
            for each in [
                {"locale": "en", "title": "Nova is live", "body": f"Hi there, tune in now: {title}",
                 "bytes": 312},
                {"locale": "de", "title": "Nova ist live",
                 "body": f"Hallo, schalte jetzt ein: {title}", "bytes": 318},
                {"locale": "ar", "title": "نوفا على الهواء الآن", "body": f"شاهد الآن: {title}",
                 "bytes": 344},
                {"locale": "fr", "title": "Nova est en direct",
                 "body": f"À voir maintenant : {title}", "bytes": 4310}]
            for platform, limit in [("apns", 4096), ("fcm", 4096), ("webpush", 3993)]]


def worker(name, **more):
    return {
        "id": name, "version": "1.0.0", "ready": True, "partitions": 8, "records_in_flight": 12,
        "lag": 40, "streams": 3_000, "connections": 6, "rss_bytes": 412_000_000,
        "waits_for": "", "held_routes": "", "limits": "", "beat_ms": now_ms() - 800,
        "silent": False, "clock_ahead_ms": 3, **more}


def health(alerts):
    now = now_ms()
    return {
        "workers": [worker("worker-0"), worker("worker-1", waits_for="redis: OOM", ready=False),
                    worker("worker-2", beat_ms=now - 61_000, silent=True, clock_ahead_ms=4_200,
                           held_routes="sandbox com.example.live: slow (late)")],
        "totals": {"lag": 120, "streams": 9_000, "stream_limit": 18_000, "connections": 18},
        "stats": {
            "day": {"events": 412, "pushes": 48_112_930, "accepted": 47_001_200,
                    "rejected": 911_730, "suppressed": 200_000, "dead_letters": 1_204},
            "minute": [{"ms": (now // 60_000 - 59 + index) * 60_000,
                        "accepted": 20_000 + 900_000 * (index % 13) // 13,
                        "rejected": 4_000 * (index % 13)} for index in range(60)],
            "window": "today, UTC"},
        "platform_obstacles": [
            {"text": "production com.example.live: InvalidProviderToken",
             "since_ms": now - 400_000,
             "runbook": "docs/operations.md#credentials-that-apple-refuses"}],
        "obstacle_shares": [{"obstacle": "production: credentials", "percent": 83},
                            {"obstacle": "Redis", "percent": 12}],
        "obstacle_window_s": 60,
        "records_lost": 0,
        "credentials": [{"name": "com.example.live", "age_seconds": 2_100}],
        "alerts": alerts}


def templates(user):
    rendered = {"locale": "de", "title": "Nova ist live", "body": "Hallo Ada, schalte jetzt ein",
                "bytes": 301, "limit": 4096, "platform": "apns"}
    return {"templates": [
        {"name": "stream-live", "trouble": None, "locales": texts("Finals night"),
         **({"rendered": rendered} if user else {})},
        {"name": "raid", "locales": texts("Raid!")[:6],
         "trouble": "raid.yaml line 7: {{stream.titel}} is no field; the former version is used"}]}


def letter(number):
    return {
        "letter": f"{number % 4}:{number}", "topic": "notify-followers",
        "code": "wrong_type" if number % 2 else "malformed_json",
        "reason": "streamer.id is a number, not a string", "event": f"live-{number}",
        "streamer": f"s-{number % 7}", "at_ms": now_ms() - 60_000 * number,
        "state": "replayed" if number % 50 == 9 else "new",
        "state_at_ms": now_ms() - 5_000 if number % 50 == 9 else None, "bytes": 411}


def letter_detail(each):
    return {
        **each, "headers": {"fanfare-error-code": each["code"], "fanfare-error": each["reason"]},
        "value": '{"id":"live-1","app":"com.example.live","streamer":{"id":7},"stream":{"id":"a"},'
                 '"occurred_at":"2026-11-28T20:00:00Z"}',
        "value_is_text": True, "value_is_cut": False,
        "preview": {"fits": False, "why": "streamer.id is a number, not a string."}}


TOKEN = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"


def user(name, whole):
    token = TOKEN if whole else TOKEN[:8] + "…"
    return {
        "user": name, "events_last_hour": 2,
        "devices": [
            {"platform": "apns", "token": token, "topic": "com.example.live",
             "environment": "production", "bound_at_ms": now_ms() - 86_400_000},
            {"platform": "fcm", "token": token, "topic": "com.example.live",
             "bound_at_ms": now_ms() - 3_600_000}],
        "set_aside": [{"platform": "webpush", "token": token, "topic": "com.example.live",
                       "reason": "BadDeviceToken"}],
        "profile": {"name": "Ada", "locale": "de", "tz": "Europe/Berlin", "quiet": "22:00-07:00",
                    "muted_streamers": "s1\ns2"}}


def trace(event, name, whole):
    why = {"verdict": "rejected", "reason": "Unregistered",
           "explanation": "Apple says that the app is no longer on this device.",
           "next": "Nothing: the device is bound again when the app is opened."}
    return {
        "event": event, "user": name, **why,
        "fanout": {"state": "done", "streamer": "nova", "template": "stream-live",
                   "app": "com.example.live"},
        "follows_now": True, "segment": f"{event}:0:1", "segment_settled": True,
        "devices": [
            {"environment": "production", "topic": "com.example.live",
             "token": TOKEN if whole else TOKEN[:8] + "…", "state": "bound",
             "since_ms": now_ms() - 86_400_000, "apns_id": "a-b", **why,
             "at_ms": now_ms() - 60_000, "sends": 1}],
        "problems": [], "suppressed_now": None,
        "rendered_now": {
            "locale": "de", "bytes": 318, "shortened": False,
            **({"payload": {"aps": {"alert": {
                "title": "Nova ist live", "body": "Hallo Ada, schalte jetzt ein"}}}}
               if whole else {})}}
