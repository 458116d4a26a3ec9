// SPDX-License-Identifier: GPL-3.0-or-later
// See page_actions.h.
#include "views/base/page_actions.h"

#include <QCoreApplication>

namespace fourwalls::views {

namespace {

struct PageActions {
    Q_DECLARE_TR_FUNCTIONS(PageActions)
};

} // namespace

PageAction openWhatIf()
{
    return {PageActions::tr("Open What-if"), QStringLiteral("whatif.show")};
}

PageAction chooseSteps()
{
    return {PageActions::tr("Choose steps…"), QStringLiteral("file.steps")};
}

PageAction addSnapshot()
{
    return {PageActions::tr("Add a memory snapshot…"), QStringLiteral("file.add_snapshot")};
}

bool takesSnapshot(Recorder recorder)
{
    return recorder == Recorder::PyTorch;
}

} // namespace fourwalls::views
