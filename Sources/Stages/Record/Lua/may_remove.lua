-- Counts how many of an app's answers are 410s, for all workers and lanes together: what each of
-- them counted alone would be known too late. Counts and decides in one step. What is older than a
-- window counts half, and so on. While nobody can count, since the key holds something else,
-- nothing is removed.
-- KEYS: removals.
-- args: answers; removals: how many of them would remove a device; samples: answers that it takes;
-- share: per cent that may be removals; window_ms; lifetime_seconds: of the key.
-- Answers 1 when these devices may be removed.
local key = KEYS[1]
-- So many times as many answers as it takes are remembered: what was taken long ago must not cover
-- for a wave of 410s.
local remembered = 10
local known = redis.pcall('HMGET', key, 'answers', 'removals', 'since_ms')
if known.err then return 0 end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local answers, removals = tonumber(known[1] or '') or 0, tonumber(known[2] or '') or 0
local since = tonumber(known[3] or '') or now
local windows = math.floor((now - since) / tonumber(args.window_ms))
if windows ~= 0 then
  local part = windows > 0 and 0.5 ^ windows or 0.5
  answers, removals, since = answers * part, removals * part, now
end
answers, removals = answers + tonumber(args.answers), removals + tonumber(args.removals)
local most = remembered * tonumber(args.samples)
if answers > most then answers, removals = most, removals * most / answers end
redis.call('HSET', key, 'answers', string.format('%.3f', answers),
  'removals', string.format('%.3f', removals), 'since_ms', string.format('%.0f', since))
redis.call('EXPIRE', key, args.lifetime_seconds)
local is_wave = answers >= tonumber(args.samples)
  and removals * 100 > tonumber(args.share) * answers
return is_wave and 0 or 1
