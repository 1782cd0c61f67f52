CommandRunner.run(fanfareProgram, Array(CommandLine.arguments.dropFirst()))
