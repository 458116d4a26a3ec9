// SPDX-License-Identifier: Apache-2.0
// The program fourwalls-cli.
#include "app/cli/command_line.h"

int main(int argc, char** argv)
{
    return fourwalls::cli::runCommandLine(argc, argv);
}
