// SPDX-License-Identifier: GPL-3.0-or-later
// The program: opens .fourwalls files through the store.
#include "app/gui/application.h"
#include "model/store/trace_file.h"

#include <QFile>

int main(int argc, char** argv)
{
    return fourwalls::gui::runApplication(argc, argv, [](const QString& path) {
        return fourwalls::store::openTrace(QFile::encodeName(path).toStdString());
    });
}
