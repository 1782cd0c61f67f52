-- `may_not_free(key)`: the error that a script answers where our user may not do what frees a token
-- once its device is out. These steps come later and on other keys, so a key of the script stands
-- for them. Needs `permissions`.
local function may_not_free(key)
  return forbidden({
    {'TIME'}, {'TYPE', key}, {'GET', key}, {'SET', key, 'a'}, {'DEL', key}, {'EXPIRE', key, '1'},
    {'HGET', key, 'a'}, {'HKEYS', key}, {'HSET', key, 'a', '1'}, {'ZSCORE', key, 'a'},
    {'ZADD', key, '1', 'a'}, {'ZREMRANGEBYSCORE', key, '0', '1'}})
end
