-- The arguments of a script, which stand in ARGV as name, value, name, value, … and, where there is
-- a list, an empty name and the list behind it: `args` has them by name, `list` is the list.
local args, list = {}, {}
do
  local at = 1
  while ARGV[at] and ARGV[at] ~= '' do
    args[ARGV[at]] = ARGV[at + 1]
    at = at + 2
  end
  for i = at + 1, #ARGV do list[#list + 1] = ARGV[i] end
end
