// SPDX-License-Identifier: Apache-2.0
// Declares all verbs, parses, runs the chosen one; the parser's exceptions and any other end here.
#include "app/cli/command_line.h"

#include "app/cli/verb.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>

namespace fourwalls::cli {

namespace {

constexpr const char* kVersion = "fourwalls-cli " FOURWALLS_VERSION;

/// The parser's complaint as one line on standard error.
int tellWrongUsage(const std::string& verb, std::string what)
{
    Console console(verb.empty() ? std::string("") : verb);
    const std::string program = verb.empty() ? "fourwalls-cli" : "fourwalls-cli " + verb;
    console.message(program + ": " + what + " (try: " + program + " --help)");
    return kExitWrongUsage;
}

} // namespace

int runCommandLine(int argc, const char* const* argv)
try {
    std::signal(SIGPIPE, SIG_IGN); // a reader that went away is a failed write, not a death in mid-recording
    CLI::App app{"Fourwalls: record, inspect and convert traces of large-model training steps.", "fourwalls-cli"};
    app.set_version_flag("--version", kVersion);
    app.require_subcommand(1);
    app.footer("Examples:\n"
               "  fourwalls-cli record -o run.fourwalls --model gpt-tiny --steps 20\n"
               "  fourwalls-cli metrics run.fourwalls\n"
               "  fourwalls-cli VERB --help");

    const std::vector<std::unique_ptr<Verb>> verbs = allVerbs();
    std::vector<CLI::App*> commands;
    bool json = false;
    for (const auto& verb : verbs) {
        CLI::App* command = app.add_subcommand(verb->name(), verb->summary());
        command->add_flag("--json", json, "print JSON and nothing else on standard output");
        command->footer(std::string("Examples:\n") + verb->examples());
        verb->declare(*command);
        commands.push_back(command);
    }
    const auto chosen = [&]() -> std::string {
        for (std::size_t i = 0; i < verbs.size(); ++i)
            if (commands[i]->parsed()) return verbs[i]->name();
        return {};
    };

    const auto isVerb = [&](std::string_view word) {
        return std::any_of(verbs.begin(), verbs.end(), [word](const auto& verb) { return verb->name() == word; });
    };
    if (argc >= 2 && argv[1][0] != '-' && !isVerb(argv[1]))
        return tellWrongUsage("", std::string("there is no verb '") + argv[1] + "'");
    // The parser would take it for no arguments at all, and `record` would train a network instead of running a command.
    // Only the first one is ours: a later one belongs to the command.
    if (argc >= 3 && std::find(argv + 1, argv + argc, std::string_view("--")) == argv + argc - 1)
        return tellWrongUsage(argv[1], "nothing follows --");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error); // help, version
        if (argc < 2) {
            std::cerr << app.help();
            return kExitWrongUsage;
        }
        return tellWrongUsage(chosen(), error.what());
    }
    for (std::size_t i = 0; i < verbs.size(); ++i) {
        if (!commands[i]->parsed()) continue;
        Console console(verbs[i]->name());
        console.setJson(json);
        return verbs[i]->run(console);
    }
    return kExitWrongUsage;
} catch (const std::bad_alloc&) {
    Console("").message("fourwalls-cli: out of memory (try: a smaller batch, sequence or file)");
    return kExitCouldNot;
} catch (const std::exception& error) {
    Console("").message(std::string("fourwalls-cli: unexpected failure: ") + error.what());
    return kExitCouldNot;
}

} // namespace fourwalls::cli
