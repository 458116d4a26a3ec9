// SPDX-License-Identifier: Apache-2.0
// The store's openTrace with a progress bar.
#include "app/cli/open_input.h"

#include "model/store/trace_file.h"

namespace fourwalls::cli {

Result<std::unique_ptr<TraceQuery>> openInput(const std::string& path)
{
    Progress progress("recovering an interrupted recording");
    store::OpenOptions options;
    options.recoveryProgress = [&progress](double fraction) { progress(fraction); };
    return store::openTrace(path, options);
}

} // namespace fourwalls::cli
