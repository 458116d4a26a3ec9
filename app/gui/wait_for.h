// SPDX-License-Identifier: GPL-3.0-or-later
// Waiting in programs without a person: --bench and --render.
#pragma once

#include <QCoreApplication>
#include <QEventLoop>

namespace fourwalls::gui {

/// Runs the event loop until `holds`; it is asked again after every event that arrives.
template <class Condition>
void waitFor(Condition holds)
{
    while (!holds()) QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents);
}

} // namespace fourwalls::gui
