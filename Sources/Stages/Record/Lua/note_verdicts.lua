-- Notes what Apple said of a segment's tokens.
-- KEYS: settled segments of an event, what is noted of a segment.
-- args: segment; lifetime_seconds: of the notes.
-- list: the notes.
-- Answers 0, and writes nothing, where another has settled the segment: then nobody would look for
-- notes any more.
local settled, notes = unpack(KEYS)
if redis.call('SISMEMBER', settled, args.segment) == 1 then return 0 end
redis.call('SADD', notes, unpack(list))
redis.call('EXPIRE', notes, args.lifetime_seconds)
return 1
