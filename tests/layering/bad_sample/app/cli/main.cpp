// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the command line has no Qt.
#include <QCoreApplication>
#include "model/store/reader.h"
#include "main.moc"
