// SPDX-License-Identifier: Apache-2.0
// Part of the layering test's bad sample: the command line has no Qt.
#include "main.moc"
#include "model/store/reader.h"
#include <QCoreApplication>
