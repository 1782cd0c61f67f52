import VerbSupport

ProcessOptions.fillStandardDescriptors()
CommandRunner.run(fanfareProgram, Array(CommandLine.arguments.dropFirst()))
