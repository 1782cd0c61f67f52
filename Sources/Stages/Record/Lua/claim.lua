-- Asks for the right to send a segment. Needs `permissions`, `event_keys`, `clock` and `claims`.
-- KEYS: the first four of `event_keys`.
-- args: those of `claims`; parent: the segment that the stragglers left, or empty.
-- Answers what `claim` does.
local problem = may_not_claim()
if problem then return problem end
return claim(args.parent)
