import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['node_modules/', 'coverage/', 'reports/'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    rules: {
      eqeqeq: 'error',
      'no-console': ['error', { allow: ['error'] }],
    },
  },
  { files: ['bin/**', 'scripts/**', 'src/main.ts'], rules: { 'no-console': 'off' } },
  {
    files: ['public/**/*.js'],
    languageOptions: { globals: { document: 'readonly', fetch: 'readonly', setTimeout: 'readonly', URLSearchParams: 'readonly' } },
    rules: { eqeqeq: 'error' },
  },
);
