import VerbSupport

CommandRunner.run(fanfareProgram, Array(CommandLine.arguments.dropFirst()))
