// The console's entry: the shell in the page's one element.
import { render } from 'preact';
import { App } from './app.tsx';
import './style.css';

const place = document.getElementById('app');
if (place !== null) render(<App />, place);
