import Glibc

guard let arguments = WorldArguments(Array(CommandLine.arguments.dropFirst())) else {
  say(WorldArguments.usage)
  exit(2)
}
exit(try WorldProgram(arguments).run() ? 0 : 1)
