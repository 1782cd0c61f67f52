-- For Tests/Lua/lint: what Redis gives scripts.
std = 'lua51'
read_globals = {'redis', 'KEYS', 'ARGV', 'cjson', 'struct', 'bit'}
max_line_length = 100
