-- Who may work on a segment. Needs `event_keys` and `clock`.
-- args: segment; owner; claim_ms: how long the claim lives; lifetime_seconds: of the keys; over:
-- empty, unless the event is over.
local function may_not_claim()
  return forbidden({{'HGET', event, 'f'}, {'EXPIRE', event, '1'},
    {'EXPIRE', settled, '1'}, {'EXPIRE', stragglers, '1'},
    {'SISMEMBER', settled, 'm'}, {'SISMEMBER', stragglers, 'm'},
    {'HGET', claims, 'f'}, {'HSET', claims, 'f', 'v'}, {'HDEL', claims, 'f'},
    {'EXPIRE', claims, '1'}})
end

-- Answers {what it is, now, when another's claim ends or what stops the fan-out, and, with `yours`,
-- whose claim on it had ended or nothing, and `released` where that owner had released it}.
-- `parent` is the segment that the stragglers left, or empty. A paused fan-out's segment is
-- nobody's, unless its event is `over` and needs no more than its outcomes.
local function claim(parent)
  local segment, owner = args.segment, args.owner
  if redis.call('SISMEMBER', settled, segment) == 1 then
    return {'settled', whole(now), '0'}
  end
  if parent ~= '' and redis.call('SISMEMBER', stragglers, segment) == 0 then
    if redis.call('SISMEMBER', settled, parent) == 1
        or redis.call('HGET', claims, segment) == 'dropped' then
      return {'orphaned', whole(now), '0'}
    end
    return {'unplanned', whole(now), '0'}
  end
  local held, former = redis.call('HGET', claims, segment), ''
  if held then
    local other, ends, before = read(held)
    if other == owner then
      former = before
    else
      if ends > now then return {'claimed', whole(now), whole(ends)} end
      former = string.match(held, '^.* > (.*)$') or held
    end
  end
  local halt = redis.call('HGET', event, 'brake') or ''
  if halt == 'paused' and args.over == '' then
    -- It must not be forgotten that it is.
    for _, key in ipairs({event, settled, stragglers}) do
      redis.call('EXPIRE', key, args.lifetime_seconds)
    end
    return {'paused', whole(now), '0'}
  end
  write(claims, segment, owner, args.claim_ms, former)
  redis.call('EXPIRE', claims, args.lifetime_seconds)
  return {'yours', whole(now), halt, read(former) or '',
    string.match(former, ' 0$') and 'released' or ''}
end
