// Ava loads this before each test file. Tests wait for readers, which would get next to nothing beside a busy core.
import { keepUsualPriority } from '../../src/lib/background-thread.ts';

keepUsualPriority();
